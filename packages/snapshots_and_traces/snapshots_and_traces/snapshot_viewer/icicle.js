// Who held how much at a moment: live bytes summed over call stacks, the outermost function on top.

const LEVEL = 23, DEEPEST = 40, SMALLEST = 0.003, MOST_NODES = 800
const PALETTE = ["#56B4E9", "#E69F00", "#CC79A7", "#009E73", "#7B5EA7", "#8C6D31", "#F0E442"]
let zoomed = null  // the part of all bytes that is shown: from, width

// A name has its colour in the timeline, else one that is the same in every run.
function colourOf(name) {
    const sum = new TextEncoder().encode(name).reduce((all, letter) => all + letter, 0)
    const own = d.groups.find(([group]) => group === name)
    return own?.[1] ?? words.kinds[name] ?? PALETTE[sum % PALETTE.length]
}

// The functions on the way to what one stack asked for; its kind first, where the file has kinds.
function wayTo(site, stack) {
    const names = words.stacks[stack].map(line => words.lines[line][0]).reverse().slice(0, DEEPEST)
    if (!stack) return [d.sites[site]]
    return d.byCategory ? [d.sites[site], ...names] : names
}

function treeOf(here) {
    const root = { name: "everything live", size: 0, blocks: 0, below: new Map() }, sums = new Map()
    for (const i of here) {
        const key = d.who[i] * d.sites.length + d.site[i]
        const sum = sums.get(key) ?? { site: d.site[i], stack: d.who[i], size: 0, blocks: 0 }
        sum.size += d.bytes[i]
        sum.blocks += 1
        sums.set(key, sum)
    }
    for (const { site, stack, size, blocks } of sums.values()) {
        let node = root
        for (const name of [null, ...wayTo(site, stack)]) {
            if (name !== null) {
                if (!node.below.has(name)) node.below.set(name, { name, size: 0, blocks: 0, below: new Map() })
                node = node.below.get(name)
            }
            node.size += size
            node.blocks += blocks
        }
    }
    return root
}

// The nodes with their places as shares of all bytes; functions that all stacks share are left out.
function placed(root) {
    const least = SMALLEST * root.size, nodes = []
    const children = node => [...node.below.values()].sort((a, b) => b.size - a.size)
    const lay = (node, depth, left) => {
        nodes.push({ node, depth, left, width: root.size ? node.size / root.size : 1 })
        let small = null
        for (const child of children(node)) {
            if (child.size >= least) {
                lay(child, depth + 1, left)
                left += child.size / root.size
            } else {
                small ??= { name: "smaller", size: 0, blocks: 0, below: new Map() }
                small.size += child.size
                small.blocks += child.blocks
            }
        }
        if (small && small.size >= least) lay(small, depth + 1, left)
    }
    let below = children(root)
    while (below.length === 1 && below[0].size >= root.size) {
        const next = children(below[0]), on = next.reduce((sum, one) => sum + one.size, 0)
        if (on < (1 - SMALLEST) * root.size) break
        below = next
    }
    lay({ ...root, below: new Map(below.map(one => [one.name, one])) }, 0, 0)
    return nodes.sort((a, b) => b.width - a.width).slice(0, MOST_NODES)
}

function showIcicle(here) {
    if ($("by-stack").hidden || !$("by-stack").open) return
    const nodes = placed(treeOf(here)), [from, width] = zoomed ?? [0, 1]
    const visible = nodes.filter(n => n.left < from + width - 1e-9 && n.left + n.width > from + 1e-9)
    const reading = $("icicle-reading"), box = $("icicle")
    reading.textContent = "point at a function, or click it to zoom into it"
    box.replaceChildren()
    box.style.height = `${LEVEL * (1 + Math.max(...visible.map(one => one.depth)))}px`
    for (const { node, depth, left, width: share } of visible) {
        const begin = Math.max((left - from) / width, 0), end = Math.min((left + share - from) / width, 1)
        const says = `${node.name}: ${sizeText(node.size)}, ${(100 * share).toFixed(1)}% of what is live, `
            + `${count(node.blocks)} block${node.blocks === 1 ? "" : "s"}`
        const button = put(box, "button", `${node.name} · ${sizeText(node.size)}`, { title: says })
        Object.assign(button.style, {
            left: `${100 * begin}%`, width: `${100 * (end - begin)}%`, top: `${depth * LEVEL}px`,
            background: depth ? colourOf(node.name) : "#A3A3A3",
        })
        button.onpointerenter = button.onfocus = () => { reading.textContent = says }
        button.onclick = () => {
            zoomed = [left, share]
            showIcicle(here)
            reading.textContent = says
        }
    }
}
