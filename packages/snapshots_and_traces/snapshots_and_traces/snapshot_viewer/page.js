// Draws a memory snapshot. Everything that the file says is put in as text, never as HTML.

const LEFT = 58, TOP = 16, BOTTOM = 20, ROWS = 6, GAP = 4, MOST_ROWS = 200, MOST_KINDS = 8

// ---- what is shown: device `d`, after event `moment`, of holder `chosen`

let d, moment, chosen, curves, map, nextOom
let picked = null  // a block of the map
const known = []
const device = place => known[place] ??= opened(words.devices[place])

function choose(place) {
    d = device(place)
    page.end = Math.max(d.last, 1)
    low = 0, high = page.end, chosen = null
    $("sentence").textContent = d.sentence
    $("slider").max = d.last
    nextOom.hidden = !d.ooms.length
    $("wrong-title").textContent = `What looks wrong (${d.findings.length})`
    $("findings").replaceChildren()
    if (!d.findings.length) put($("findings"), "p", "Nothing, by the rules that this page knows.")
    for (const found of d.findings) {
        const box = put($("findings"), "details", "", { open: found === d.findings[0] })
        put(box, "summary", found.title)
        put(box, "p", found.says)
        put(box, "p", found.try)
        if ("moment" in found) put(box, "button", "show where", { onclick: () => go(found.moment) })
    }
    go(d.peak)
    search()
    showGrowth()
}

function go(where) {
    moment = Math.max(0, Math.min(d.last, Math.round(where)))
    picked = null
    $("slider").value = moment
    if (moment < low || moment > high) zoomTo(moment - (high - low) / 2, moment + (high - low) / 2)
    redraw()
    const here = alive(d.event, d.death, moment)
    showEvent()
    showHolders(here)
    showMap(here)
    zoomed = null
    showIcicle(here)
}

// ---- the timeline

// One moment for each pixel: the one at which most was live, so that no peak is lost.
function sampled(pixels, of = d) {
    const scale = of.last / Math.max(d.last, 1), step = (high - low) / pixels * scale
    return Int32Array.from({ length: pixels }, (_, x) => {
        const from = Math.min(Math.floor(low * scale + x * step), of.last)
        const to = Math.min(Math.max(Math.floor(low * scale + (x + 1) * step), from + 1), of.last + 1)
        let best = from
        for (let m = from + 1; m < to; m++) if (of.live[m] > of.live[best]) best = m
        return best
    })
}

// Bytes of each group at each of these moments, which rise.
function stacked(moments) {
    const held = new Float64Array(d.groups.length), first = moments[0]
    for (let i = 0; i < d.event.length; i++) {
        if (d.event[i] <= first && d.death[i] > first) held[d.group[i]] += d.bytes[i]
    }
    let at = first
    return Array.from(moments, to => {
        while (at < to) {
            held[d.goGroup[++at]] -= d.go[at]
            held[d.comeGroup[at]] += d.come[at]
        }
        return held.slice()
    })
}

function draw() {
    const { pen, height } = timeCanvas("timeline"), tall = height - TOP - BOTTOM
    const moments = sampled(wide), table = stacked(moments), below = new Float64Array(wide)
    const other = otherOf(), beside = other && sampled(wide, other)
    const most = 1.08 * Math.max(moments.reduce((top, m) => Math.max(top, d.reserved[m], d.live[m]), 1),
        beside?.reduce((top, m) => Math.max(top, other.live[m]), 1) ?? 1)
    const y = size => TOP + tall * (1 - size / most)
    drawAxes(pen, tall, most, y)
    d.groups.forEach(([, colour], group) => {
        pen.fillStyle = colour
        table.forEach((held, i) => {
            const foot = y(below[i]), top = y(below[i] += held[group])
            if (foot > top) pen.fillRect(LEFT + i, top, 1, Math.max(foot - top, 0.3))
        })
    })
    pen.beginPath()
    pen.strokeStyle = tint("ink")
    pen.lineWidth = 1.4
    moments.forEach((m, i) => [0, 1].forEach(s => pen.lineTo(LEFT + i + s, y(d.reserved[m]))))
    pen.stroke()
    if (beside) {
        pen.beginPath()
        pen.setLineDash([5, 3])
        pen.strokeStyle = tint("alarm")
        beside.forEach((m, i) => [0, 1].forEach(s => pen.lineTo(LEFT + i + s, y(other.live[m]))))
        pen.stroke()
        pen.setLineDash([])
    }
    pen.fillStyle = tint("mark")
    let tick = -1
    for (const m of matches) {
        const place = Math.floor(X(m))
        if (m < low || m > high || place === tick) continue
        pen.fillRect(tick = place, TOP + tall, 1, 5)
    }
    const mark = (m, colour, text, wider = 1.5) => {
        if (m < low || m > high) return
        pen.fillStyle = colour
        pen.fillRect(X(m) - wider / 2, TOP - 4, wider, tall + 4)
        pen.textAlign = X(m) > 100 ? "right" : "left"
        pen.fillText(text, X(m) + (X(m) > 100 ? -5 : 5), TOP - 4)
    }
    mark(moment, "#88888899", "", 5)
    mark(d.peak, tint("mark"), "peak")
    let last = -Infinity, told = -Infinity
    for (const m of d.ooms) {
        if (X(m) - last < 1) continue
        last = X(m)
        mark(m, tint("alarm"), last - told > 90 ? "out of memory" : "")
        if (last - told > 90) told = last
    }
    const [from, to] = (dragged() ?? [low, low]).map(X)
    pen.fillStyle = "#0072B233"
    pen.fillRect(from, TOP, to - from, tall)
    curves = { moments, table, y }
    showLegend(table)
    const shown = `events ${count(Math.ceil(low))} to ${count(Math.floor(high))}`
    $("timeline").setAttribute("aria-label", `Allocated and reserved bytes, ${shown}`)
}

function drawAxes(pen, tall, most, y) {
    const [unit, name] = UNITS.find(([one]) => most >= one) ?? [1, "B"]
    pen.fillStyle = tint("ink")
    pen.strokeStyle = tint("axis")
    pen.textAlign = "right"
    for (let at = 0, step = round(most / unit / 5); at * unit < most; at += step) {
        pen.strokeRect(LEFT, y(at * unit), wide, 0)
        pen.fillText(`${+at.toFixed(3)} ${name}`, LEFT - 5, y(at * unit) + 4)
    }
    pen.textAlign = "center"
    for (const at of ticks(110, 1).found) {
        pen.fillText(count(at), Math.min(X(at), LEFT + wide - 18), TOP + tall + 14)
    }
    pen.fillText("event", 16, TOP + tall + 14)
}

function showLegend(table) {
    const stretched = "from its first event to its last"
    const dashed = otherOf() ? `; dashed: ${words.names[d.earlier ? 1 : 0]}, allocated, ${stretched}` : ""
    $("legend").replaceChildren(`line: reserved; areas: allocated, by who asked${dashed}`)
    d.groups.forEach(([name, colour], group) => {
        if (!name || !table.some(held => held[group] > 0)) return
        const entry = put($("legend"), "span", "", { title: name })
        put(entry, "span", "", { className: "mark" }).style.background = colour
        entry.append(name.length > 40 ? `${name.slice(0, 39)}…` : name)
    })
}

// ---- what is there at the moment

function showEvent() {
    const title = $("event-title"), k = moment - 1, all = count(d.last)
    title.textContent = `Before the first of ${all} events`
    $("stack").replaceChildren()
    if (k < 0) return
    const [action, means] = words.actions[d.action[k]], where = BigInt(d.addr[k]).toString(16)
    title.textContent = `Event ${count(moment)} of ${all}: ${action} `
    put(title, "span", sizeText(d.size[k]), { title: exact(d.size[k]) })
    title.append(action === "oom" ? `, ${sizeText(d.addr[k])} left on the device` : ` at 0x${where}`,
        `, stream ${d.streams[d.stream[k]]}`,
        d.clock[d.last - 1] ? `, ${(d.clock[k] / 1e6).toFixed(6)} s in ` : " ")
    put(title, "small", means)
    showStack($("stack"), d.stack[k])
}

// A block of the map: how long it lived, and who asked for it.
function showBlock(i) {
    picked = i
    const title = $("event-title"), ends = d.death[i] <= d.last
    title.textContent = "A block of "
    put(title, "span", sizeText(d.bytes[i]), { title: exact(d.bytes[i]) })
    title.append(d.event[i] ? `, since event ${count(d.event[i])}` : ", there before the first event",
        ends ? `, freed by event ${count(d.death[i])}. Go to: ` : ", never freed. Go to: ")
    for (const [text, at] of [["its first event", d.event[i]], ["its last", ends && d.death[i]]]) {
        if (at) put(title, "button", text, { onclick: () => go(at) })
    }
    $("stack").replaceChildren()
    showStack($("stack"), d.who[i])
    showMap(alive(d.event, d.death, moment))
}

function showStack(parent, number) {
    const list = put(parent, "ol", "", { className: "stack" })
    for (const place of words.stacks[number]) {
        const [text, file, own] = words.lines[place]
        put(list, "li", text, { title: file, className: own ? "own" : "" })
    }
}

function showHolders(here) {
    const sums = new Map()
    let all = 0
    for (const i of here) {
        const site = d.site[i], size = d.bytes[i]
        if (!sums.has(site)) sums.set(site, { site, size: 0, blocks: 0, stacks: new Map() })
        const held = sums.get(site)
        held.size += size
        held.blocks += 1
        held.stacks.set(d.who[i], (held.stacks.get(d.who[i]) ?? 0) + size)
        all += size
    }
    const rows = [...sums.values()].sort((a, b) => b.size - a.size), more = rows.length - MOST_ROWS
    $("held-title").textContent = `Who holds ${sizeText(all)} after event ${count(moment)}`
    $("held-title").title = exact(all)
    $("holders").replaceChildren()
    for (const held of rows.slice(0, MOST_ROWS)) showHolder(held, all)
    if (more > 0) put(put($("holders"), "tr"), "td", `and ${count(more)} more with less`)
}

function showHolder({ site, size, blocks, stacks }, all) {
    const open = site === chosen, row = put($("holders"), "tr", "", { className: open ? "open" : "" })
    const cell = put(row, "td")
    const pick = () => {
        chosen = open ? null : site
        go(moment)
        document.querySelector(`#holders [value="${site}"]`)?.focus()
    }
    put(cell, "span", "", { className: "mark" }).style.background = d.groups[d.siteGroups[site]][1]
    put(cell, "button", d.sites[site], { onclick: pick, ariaExpanded: open, value: site })
    put(row, "td", sizeText(size), { title: exact(size) })
    put(row, "td", count(blocks))
    put(row, "td", 200 * size < all ? "<1%" : `${Math.round(100 * size / (all || 1))}%`)
    if (!open) return
    const ways = [...stacks].sort((a, b) => b[1] - a[1])
    for (const [number, part] of ways.slice(0, 5)) {
        put(cell, "div", `${sizeText(part)}, innermost first:`, { title: exact(part) })
        showStack(cell, number)
    }
    if (ways.length > 5) put(cell, "div", `and ${ways.length - 5} other stacks`)
}

function showMap(here) {
    const found = segments(d, here, moment), kinds = d.kinds.map(() => 0)
    let used = 0, slack = 0, reserved = 0, largest = 0
    for (const { start, end, kind, blocks, free } of found) {
        kinds[kind] += end - start
        reserved += end - start
        largest = Math.max(largest, free)
        for (const i of blocks) used += d.bytes[i], slack += d.slack[i]
    }
    const free = Math.max(reserved - used - slack, 0)
    const text = `${count(found.length)} segment${found.length === 1 ? "" : "s"}, `
        + `${sizeText(reserved)}: ${sizeText(used)} in use, ${sizeText(slack)} slack, ${sizeText(free)} free `
        + `(largest free block ${sizeText(largest)}). `
    const of = kinds.map((size, i) => size ? `${d.kinds[i]}: ${sizeText(size)}` : "").filter(Boolean)
    const others = of.length > MOST_KINDS ? `; and ${of.length - MOST_KINDS} others` : ""
    $("map-title").textContent = text + of.slice(0, MOST_KINDS).join("; ") + others
    $("map-title").title = `reserved ${exact(reserved)}, in use ${exact(used)}, free ${exact(free)}`
    $("map").setAttribute("aria-label", text)
    drawMap(found, Math.max(reserved / ROWS, 1))
}

// Each pixel has the colour of what most of its bytes are.
function drawMap(found, rowBytes) {
    const { pen, width, height } = canvasOf("map"), tall = height / ROWS - GAP
    const wide = Math.floor(width), pixel = rowBytes / wide, pixels = wide * ROWS
    const colours = new Array(pixels), most = new Float64Array(pixels)
    const [INK, FREE, SLACK, PAPER] = ["ink", "free", "slack", "paper"].map(tint)
    const paint = (from, size, colour) => {
        for (let p = Math.floor(from / pixel); size > 0 && p < pixels; p++) {
            const part = Math.min(size, (p + 1) * pixel - from)
            if (part > most[p]) most[p] = part, colours[p] = colour
            from += part
            size -= part
        }
    }
    let before = 0
    for (const segment of found) {
        const { start, end, blocks } = Object.assign(segment, { at: before })
        let free = start
        for (const i of blocks) {
            const from = d.address[i], faint = chosen !== null && d.site[i] !== chosen
            const colour = i === picked ? INK : d.groups[d.group[i]][1] + (faint ? "40" : "")
            paint(before + free - start, from - free, FREE)
            paint(before + from - start, d.bytes[i], colour)
            free = from + d.bytes[i] + d.slack[i]
            paint(before + free - d.slack[i] - start, d.slack[i], SLACK)
        }
        paint(before + free - start, end - free, FREE)
        if (end - start > 4 * pixel) colours[Math.ceil(before / pixel)] = INK
        before += end - start
    }
    for (let p = 0, from = 0; p < pixels; p++) {
        if (colours[p + 1] === colours[p] && (p + 1) % wide) continue
        pen.fillStyle = colours[p] ?? PAPER
        pen.fillRect(from % wide, Math.floor(p / wide) * (tall + GAP), p + 1 - from, tall)
        from = p + 1
    }
    map = { found, rowBytes, width, tall }
}

// ---- the pointer and the keys

// The segment under the pointer, and the block in it; a free place has none.
function under(event) {
    const row = Math.floor(event.offsetY / (map.tall + GAP))
    const at = (row + event.offsetX / map.width) * map.rowBytes
    const segment = map.found.findLast(one => one.at <= at)
    if (!segment) return {}
    const address = segment.start + at - segment.at
    const i = segment.blocks.findLast(one => d.address[one] <= address)
    const inside = i !== undefined && address < d.address[i] + d.bytes[i] + d.slack[i]
    return { segment, block: inside ? i : null }
}

function overMap(event) {
    const { segment, block: i } = under(event)
    if (!segment) return
    const { start, end, kind } = segment
    const lines = [`segment of ${sizeText(end - start)} (${exact(end - start)}), ${d.kinds[kind]}`]
    if (i === null) return tip(event, [...lines, "free here"])
    lines.push(`${sizeText(d.bytes[i])} (${exact(d.bytes[i])}): ${d.sites[d.site[i]]}`)
    tip(event, [...lines, d.event[i] ? `since event ${count(d.event[i])}` : "", "click: its call stack"])
}

function clickMap(event) {
    const { block } = under(event)
    if (block !== null && block !== undefined) showBlock(block)
    else if (picked !== null) go(moment)
}

// ---- search: moments whose event has a text in its name, its address or a line of its stack

function find(has, text) {
    const found = [], address = text.startsWith("0x") ? Number(text) : NaN
    if (!has) return [found, ""]
    const lines = words.lines.map(([line, file]) => has(`${line} ${file}`))
    const stacks = words.stacks.map(places => places.some(place => lines[place]))
    const actions = words.actions.map(([name]) => has(name))
    for (let k = 0; k < d.last; k++) {
        if (d.addr[k] === address || stacks[d.stack[k]] || actions[d.action[k]]) found.push(k + 1)
    }
    return [found, ""]
}

// ---- two snapshots: what grew from one to the other

// The same device of the other snapshot, where there are two.
function otherOf() {
    const at = words.devices.findIndex(one => one.earlier !== d.earlier && one.number === d.number)
    return at < 0 ? null : device(at)
}

function showGrowth() {
    $("grown").hidden = !words.grown
    if (!words.grown) return
    const [first, second] = words.names
    $("grown-title").textContent = `What grew from ${first} to ${second}, each at its peak`
    $("grown-rows").replaceChildren()
    for (const [site, before, after] of words.grown.slice(0, MOST_ROWS)) {
        const row = put($("grown-rows"), "tr"), cell = put(row, "td")
        const pick = () => { chosen = d.sites.indexOf(site); go(d.peak) }
        if (d.sites.includes(site)) put(cell, "button", site, { onclick: pick })
        else cell.append(site)
        for (const size of [before, after]) put(row, "td", sizeText(size), { title: exact(size) })
        const grew = after - before, sign = grew < 0 ? "−" : "+"
        put(row, "td", `${sign}${sizeText(Math.abs(grew))}`, { title: exact(grew) })
    }
}

// ---- listening

// The pixel of the timeline under the pointer; `curves.moments` has the event that it shows.
const pixelUnder = event => Math.max(0, Math.min(wide - 1, Math.floor(event.offsetX - LEFT)))

function overTimeline(event) {
    const i = pixelUnder(event), m = curves.moments[i], lines = [`event ${count(m)}`]
    for (const [name, by] of [["allocated", d.live], ["reserved", d.reserved]]) {
        lines.push(`${name}: ${sizeText(by[m])} (${exact(by[m])})`)
    }
    let below = 0
    d.groups.forEach(([name], group) => {
        const size = curves.table[i][group], foot = curves.y(below)
        const over = event.offsetY < foot && event.offsetY >= curves.y(below += size)
        if (over) lines.push(`${name}: ${sizeText(size)}`)
    })
    return lines
}

function listenToAll() {
    addButton("peak", "p", () => go(d.peak))
    nextOom = addButton("next out of memory", "o",
        () => go(d.ooms.find(m => m > moment) ?? d.ooms[0] ?? moment))
    follow($("timeline"), { click: e => go(curves.moments[pixelUnder(e)]), hover: overTimeline })
    $("map").onpointermove = overMap
    $("map").onpointerleave = e => tip(e, null)
    $("map").onclick = clickMap
    $("by-stack").ontoggle = () => showIcicle(alive(d.event, d.death, moment))
    $("slider").oninput = () => go(+$("slider").value)
    $("device").onchange = () => choose($("device").selectedIndex)
    onresize = () => go(moment)
    onTheme(() => go(moment))
}

begin(() => {
    const step = () => Math.max((high - low) / 100, 1)
    page = {
        left: LEFT, right: 8, begin: 0, end: 1, least: 8,
        draw, find, timeText: events => `${count(Math.round(events))} events`,
        focus: () => moment, isAfter: m => m > moment, current: () => moment, show: go,
        keys: {
            ArrowRight: () => go(moment + 1), ArrowLeft: () => go(moment - 1), Home: () => go(0),
            End: () => go(d.last), PageDown: () => go(moment + step()), PageUp: () => go(moment - step()),
        },
    }
    for (const { label } of words.devices) put($("device"), "option", label)
    $("choice").hidden = words.devices.length < 2
    $("device").selectedIndex = words.first
    if (words.view !== "whole") {
        document.body.dataset.view = words.view
        $("by-stack").open = words.view === "icicle"
    }
    listenToAll()
    choose(words.first)
})
