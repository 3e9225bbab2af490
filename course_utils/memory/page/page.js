"use strict"
// Draws a memory snapshot. Everything that the file says is put in as text, never as HTML.

const INK = "#222222", UNITS = [[2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]]
const LEFT = 58, TOP = 16, BOTTOM = 20, ROWS = 6, MOST_ROWS = 200
const $ = id => document.getElementById(id)

function sizeText(bytes) {
    for (const [unit, name] of UNITS) {
        if (bytes < unit) continue
        const digits = bytes < 10 * unit ? 2 : 1
        const how = { minimumFractionDigits: digits, maximumFractionDigits: digits }
        return `${(bytes / unit).toLocaleString("en", how)} ${name}`
    }
    return `${bytes} B`
}
const count = number => number.toLocaleString("en")
const exact = bytes => `${count(bytes)} B`
const share = (part, all) => `${(100 * part / (all || 1)).toFixed(0)}%`

function put(parent, tag, text = "", more = {}) {
    const element = document.createElement(tag)
    element.textContent = text
    Object.assign(element, more)
    parent.append(element)
    return element
}

// ---- the data: see data.py

async function unpack() {
    const bytes = Uint8Array.from(atob($("data").textContent), c => c.charCodeAt(0))
    const flow = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))
    const whole = await new Response(flow).arrayBuffer()
    const length = new DataView(whole).getUint32(0, true)
    const words = JSON.parse(new TextDecoder().decode(new Uint8Array(whole, 4, length)))
    return { words, columns: new Uint8Array(whole, 4 + length) }
}

function column([at, width, length], bytes) {
    const numbers = width > 4 ? new Float64Array(length) : new Uint32Array(length)
    for (let plane = 0, unit = 1; plane < width; plane++, unit *= 256) {
        const from = at + plane * length
        for (let i = 0; i < length; i++) numbers[i] += bytes[from + i] * unit
    }
    return numbers
}

function running(numbers) {
    for (let i = 1; i < numbers.length; i++) numbers[i] += numbers[i - 1]
    return numbers
}

// A device ready to be drawn: `lives` of allocations with their columns, curves by moment.
function opened(device, bytes) {
    const c = {}
    for (const name in device.columns) c[name] = column(device.columns[name], bytes)
    const lives = c.event.length, last = device.events, early = c.earlyAddress.length
    c.address = new Float64Array(lives)
    c.bytes = new Float64Array(lives)
    c.who = new Uint32Array(lives)
    c.born = new Int32Array(last + 1).fill(-1) // the life that each event begins, and ends
    c.died = new Int32Array(last + 1).fill(-1)
    for (let i = 0, seen = 0; i < lives; i++) {
        const at = c.event[i] - 1
        c.address[i] = at < 0 ? c.earlyAddress[seen] : c.addr[at]
        c.bytes[i] = at < 0 ? c.earlySize[seen] : c.size[at]
        c.who[i] = at < 0 ? c.earlyStack[seen++] : c.stack[at]
        if (at >= 0) c.born[at + 1] = i
        if (c.death[i] <= last) c.died[c.death[i]] = i
    }
    c.clock = running(Float64Array.from(c.passed))
    c.live = curve(last, c.event, c.death, c.bytes)
    c.reserved = curve(last, c.rangeBirth, c.rangeDeath, c.rangeSize)
    c.group = Uint8Array.from(c.site, site => device.siteGroups[site])
    return { ...device, ...c, last, early }
}

function curve(last, births, deaths, sizes) {
    const change = new Float64Array(last + 1)
    for (let i = 0; i < births.length; i++) {
        if (births[i] <= last) change[births[i]] += sizes[i]
        if (deaths[i] <= last) change[deaths[i]] -= sizes[i]
    }
    return running(change)
}

// ---- state

let words, bytes, d, low, high, moment, chosen, hits = [], drag = null
const known = []

function choose(place) {
    d = known[place] ??= opened(words.devices[place], bytes)
    low = 0, high = Math.max(d.last, 1), chosen = null
    $("sentence").textContent = d.sentence
    $("slider").max = d.last
    $("to-oom").hidden = !d.ooms.length
    $("findings").replaceChildren()
    if (!d.findings.length) put($("findings"), "p", "Nothing, by the rules that this page knows.")
    d.findings.forEach(showFinding)
    go(d.peak)
}

function showFinding(found, place) {
    const box = put($("findings"), "details")
    box.open = place === 0
    put(box, "summary", found.title)
    put(box, "p", found.says)
    put(box, "p", `Try: ${found.try}`)
    if (found.moment === undefined) return
    put(box, "button", "show where", { onclick: () => { reveal(found.moment); go(found.moment) } })
}

function go(where) {
    moment = Math.max(0, Math.min(d.last, Math.round(where)))
    $("slider").value = moment
    draw()
    showMoment()
}

function reveal(where) {
    const width = high - low
    if (where < low || where > high) zoomTo(where - width / 2, where + width / 2)
}

function zoomTo(from, to) {
    const end = Math.max(d.last, 1)
    const width = Math.min(Math.max(to - from, 8), end)
    low = Math.max(0, Math.min(from, end - width))
    high = low + width
    draw()
}

function zoom(factor, around = moment >= low && moment <= high ? moment : (low + high) / 2) {
    zoomTo(around - (around - low) * factor, around + (high - around) * factor)
}

// ---- the timeline

function context(canvas) {
    const box = canvas.getBoundingClientRect(), ratio = window.devicePixelRatio || 1
    canvas.width = Math.round(box.width * ratio)
    canvas.height = Math.round(box.height * ratio)
    const pen = canvas.getContext("2d")
    pen.scale(ratio, ratio)
    pen.font = "11px system-ui, 'DejaVu Sans', sans-serif"
    return { pen, width: box.width, height: box.height }
}

// One moment for each pixel: the one at which most was live, so that no peak is lost.
function sampled(pixels) {
    const moments = new Int32Array(pixels), step = (high - low) / pixels
    for (let x = 0; x < pixels; x++) {
        const from = Math.floor(low + x * step)
        const to = Math.min(Math.max(Math.floor(low + (x + 1) * step), from + 1), d.last + 1)
        let best = Math.min(from, d.last)
        for (let m = best + 1; m < to; m++) if (d.live[m] > d.live[best]) best = m
        moments[x] = best
    }
    return moments
}

// Bytes of each group at each of these moments, which rise.
function stacked(moments) {
    const held = new Float64Array(d.groups.length), table = []
    for (let i = 0; i < d.event.length; i++) {
        if (d.event[i] <= moments[0] && d.death[i] > moments[0]) held[d.group[i]] += d.bytes[i]
    }
    let at = moments[0]
    for (const to of moments) {
        for (at++; at <= to; at++) {
            const ends = d.died[at], begins = d.born[at]
            if (ends >= 0) held[d.group[ends]] -= d.bytes[ends]
            if (begins >= 0) held[d.group[begins]] += d.bytes[begins]
        }
        at = to
        table.push(held.slice())
    }
    return table
}

function draw() {
    const { pen, width, height } = context($("timeline"))
    const wide = Math.max(Math.floor(width - LEFT - 8), 10), tall = height - TOP - BOTTOM
    const moments = sampled(wide), table = stacked(moments)
    let most = 1
    for (const m of moments) most = Math.max(most, d.reserved[m], d.live[m])
    most *= 1.08
    const x = m => LEFT + (m - low) / (high - low) * wide
    const y = size => TOP + tall * (1 - size / most)
    drawAxes(pen, wide, tall, most, y, x)
    const below = new Float64Array(wide)
    d.groups.forEach(([, colour], group) => {
        pen.fillStyle = colour
        for (let i = 0; i < wide; i++) {
            const size = table[i][group]
            if (!size) continue
            pen.fillRect(LEFT + i, y(below[i] + size), 1, Math.max(y(below[i]) - y(below[i] + size), 0.3))
            below[i] += size
        }
    })
    pen.beginPath()
    pen.strokeStyle = INK
    pen.lineWidth = 1.4
    moments.forEach((m, i) => pen.lineTo(LEFT + i, y(d.reserved[m])))
    pen.stroke()
    hits = { moments, table, x, y, wide, tall }
    const inside = m => m >= low && m <= high
    for (const m of d.ooms.filter(inside)) mark(pen, x(m), "#C00000", "OOM", tall)
    if (inside(d.peak)) mark(pen, x(d.peak), "#0072B2", "peak", tall)
    if (inside(moment)) mark(pen, x(moment), INK, "", tall)
    if (drag?.to && !drag.move) {
        pen.fillStyle = "#0072B233"
        pen.fillRect(drag.from, TOP, drag.to - drag.from, tall)
    }
    showLegend(table)
    const shown = `events ${count(Math.ceil(low))} to ${count(Math.floor(high))}`
    $("timeline").setAttribute("aria-label", `Allocated and reserved bytes, ${shown}`)
}

function drawAxes(pen, wide, tall, most, y, x) {
    const [unit, name] = UNITS.find(([n]) => most >= n) ?? [1, "B"]
    const nice = raw => [1, 2, 5, 10].map(n => n * 10 ** Math.floor(Math.log10(raw))).find(n => n >= raw)
    pen.fillStyle = INK
    pen.strokeStyle = "#E3E3E3"
    pen.textAlign = "right"
    for (let at = 0, step = nice(most / unit / 5); at * unit < most; at += step) {
        pen.strokeRect(LEFT, y(at * unit), wide, 0)
        pen.fillText(`${+at.toFixed(3)} ${name}`, LEFT - 5, y(at * unit) + 4)
    }
    pen.textAlign = "center"
    const step = Math.max(nice((high - low) / 8), 1)
    for (let at = Math.ceil(low / step) * step; at <= high; at += step) {
        pen.fillText(count(at), Math.min(x(at), LEFT + wide - 18), TOP + tall + 14)
    }
    pen.textAlign = "left"
    pen.fillText("event", 2, TOP + tall + 14)
}

function mark(pen, at, colour, text, tall) {
    pen.fillStyle = colour
    pen.fillRect(at - 0.75, TOP - 4, 1.5, tall + 4)
    pen.textAlign = at > 100 ? "right" : "left"
    if (text) pen.fillText(text, at + (at > 100 ? -3 : 3), TOP - 4)
    pen.textAlign = "left"
}

function showLegend(table) {
    const legend = $("legend")
    legend.replaceChildren()
    put(put(legend, "span", " line: reserved"), "i")
    d.groups.forEach(([name, colour], group) => {
        if (!name || !table.some(held => held[group] > 0)) return
        const entry = document.createElement("span")
        put(entry, "span", "", { className: "mark" }).style.background = colour
        entry.append(name.length > 34 ? `${name.slice(0, 33)}…` : name)
        entry.title = name
        legend.append(entry)
    })
}

// ---- what is there at a moment

function alive(births, deaths) {
    const found = []
    for (let i = 0; i < births.length; i++) if (births[i] <= moment && deaths[i] > moment) found.push(i)
    return found
}

function showMoment() {
    const here = alive(d.event, d.death)
    showEvent()
    showHolders(here)
    showMap(here)
}

function showEvent() {
    const title = $("event-title"), k = moment - 1
    $("stack").replaceChildren()
    if (k < 0) {
        title.textContent = `Before the first of ${count(d.last)} events`
        return
    }
    const action = words.actions[d.action[k]], start = `Event ${count(moment)} of ${count(d.last)}: ${action} `
    title.textContent = start
    put(title, "span", sizeText(d.size[k]), { title: exact(d.size[k]) })
    const where = action === "oom" ? `, ${sizeText(d.addr[k])} left on the device`
        : ` at 0x${BigInt(d.addr[k]).toString(16)}`
    const clock = d.clock[d.last - 1] ? `, ${(d.clock[k] / 1e6).toFixed(6)} s in` : ""
    title.append(`${where}, stream ${d.streams[d.stream[k]]}${clock}`)
    showStack($("stack"), d.stack[k])
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
        const held = sums.get(d.site[i]) ?? { site: d.site[i], size: 0, blocks: 0, stacks: new Map() }
        held.size += d.bytes[i]
        held.blocks += 1
        held.stacks.set(d.who[i], (held.stacks.get(d.who[i]) ?? 0) + d.bytes[i])
        sums.set(held.site, held)
        all += d.bytes[i]
    }
    const rows = [...sums.values()].sort((a, b) => b.size - a.size)
    $("held-title").textContent = `Who holds ${sizeText(all)} after event ${count(moment)}`
    $("held-title").title = exact(all)
    $("holders").replaceChildren()
    for (const held of rows.slice(0, MOST_ROWS)) showHolder(held, all)
    if (rows.length > MOST_ROWS) {
        put(put($("holders"), "tr"), "td", `and ${count(rows.length - MOST_ROWS)} more with less`)
    }
}

function showHolder(held, all) {
    const row = put($("holders"), "tr"), cell = put(row, "td"), open = held.site === chosen
    put(cell, "span", "", { className: "mark" }).style.background = d.groups[d.siteGroups[held.site]][1]
    const button = put(cell, "button", d.sites[held.site], { onclick: () => pick(open ? null : held.site) })
    button.setAttribute("aria-expanded", open)
    put(row, "td", sizeText(held.size), { className: "n", title: exact(held.size) })
    put(row, "td", count(held.blocks), { className: "n" })
    put(row, "td", share(held.size, all), { className: "n" })
    if (!open) return
    row.className = "chosen"
    const stacks = [...held.stacks].sort((a, b) => b[1] - a[1])
    stacks.slice(0, 5).forEach(([number, size]) => {
        put(cell, "div", `${sizeText(size)}, by way of (innermost first):`, { title: exact(size) })
        showStack(cell, number)
    })
    if (stacks.length > 5) put(cell, "div", `and ${stacks.length - 5} other ways`)
    button.focus()
}

function pick(site) {
    chosen = site
    showMoment()
}

// Segments that there are now, pages of one that lie side by side joined; by stream, then size.
function segments() {
    const order = alive(d.rangeBirth, d.rangeDeath).sort((a, b) => d.rangeAddress[a] - d.rangeAddress[b])
    const found = []
    for (const i of order) {
        const before = found.at(-1), page = i >= d.firstPage, start = d.rangeAddress[i]
        if (page && before?.page && before.end === start && before.kind === d.rangeKind[i]) {
            before.end += d.rangeSize[i]
        } else {
            found.push({ start, end: start + d.rangeSize[i], kind: d.rangeKind[i], page, blocks: [] })
        }
    }
    return found
}

function showMap(here) {
    const found = segments(), starts = found.map(s => s.start)
    here.sort((a, b) => d.address[a] - d.address[b])
    let place = 0, used = 0, slack = 0
    for (const i of here) {
        while (place + 1 < starts.length && starts[place + 1] <= d.address[i]) place++
        const segment = found[place]
        if (!segment || d.address[i] >= segment.end) continue
        segment.blocks.push(i)
        used += d.bytes[i]
        slack += d.slack[i]
    }
    let largest = 0
    const kinds = d.kinds.map(() => 0)
    for (const s of found) {
        let at = s.start
        for (const i of s.blocks) {
            largest = Math.max(largest, d.address[i] - at)
            at = d.address[i] + d.bytes[i] + d.slack[i]
        }
        largest = Math.max(largest, s.end - at)
        kinds[s.kind] += s.end - s.start
    }
    found.sort((a, b) => a.kind - b.kind || b.end - b.start - (a.end - a.start))
    const reserved = kinds.reduce((a, b) => a + b, 0), free = Math.max(reserved - used - slack, 0)
    const streams = kinds.map((size, i) => size ? `${d.kinds[i]}: ${sizeText(size)}` : "").filter(Boolean)
    const title = $("map-title")
    title.textContent = `${count(found.length)} segments, ${sizeText(reserved)}: `
        + `${sizeText(used)} in use, ${sizeText(slack)} slack, ${sizeText(free)} free `
        + `(largest free block ${sizeText(largest)}). By stream: ${streams.join("; ") || "none"}.`
    title.title = `reserved ${exact(reserved)}, in use ${exact(used)}, free ${exact(free)}`
    drawMap(found, reserved)
}

function drawMap(found, reserved) {
    const { pen, width, height } = context($("map"))
    const rowBytes = Math.max(reserved / ROWS, 1), tall = height / ROWS - 4
    const bar = (from, size, colour) => { // may run over the end of a row
        pen.fillStyle = colour
        while (size > 0) {
            const row = Math.min(Math.floor(from / rowBytes), ROWS - 1)
            const part = row < ROWS - 1 ? Math.min(size, (row + 1) * rowBytes - from) : size
            if (part <= 0) break
            const x = (from - row * rowBytes) / rowBytes * width
            pen.fillRect(x, row * (tall + 4), part / rowBytes * width, tall)
            from += part
            size -= part
        }
    }
    let at = 0
    const places = []
    for (const s of found) {
        bar(at, s.end - s.start, "#f3f1ea")
        for (const i of s.blocks) {
            const from = at + d.address[i] - s.start
            const faint = chosen !== null && d.site[i] !== chosen
            bar(from, d.bytes[i], d.groups[d.group[i]][1] + (faint ? "40" : ""))
            bar(from + d.bytes[i], d.slack[i], "#444444")
        }
        bar(at, rowBytes / width, INK)
        places.push({ at, ...s })
        at += s.end - s.start
    }
    hits.map = { places, rowBytes, width, tall }
    $("map").setAttribute("aria-label", $("map-title").textContent)
}

// ---- the pointer and the keys

function tip(event, lines) {
    const box = $("tip")
    box.hidden = !lines
    if (!lines) return
    box.textContent = lines.join("\n")
    box.style.left = `${Math.min(event.clientX + 14, innerWidth - box.offsetWidth - 8)}px`
    box.style.top = `${Math.min(event.clientY + 14, innerHeight - box.offsetHeight - 8)}px`
}

function overMap(event) {
    const { places, rowBytes, width, tall } = hits.map
    const row = Math.floor(event.offsetY / (tall + 4)), at = (row + event.offsetX / width) * rowBytes
    const s = places.findLast(one => one.at <= at)
    if (!s || at > s.at + s.end - s.start) return tip(event, null)
    const address = s.start + at - s.at
    const i = s.blocks.find(b => d.address[b] <= address && address < d.address[b] + d.bytes[b] + d.slack[b])
    const lines = [`segment of ${sizeText(s.end - s.start)} (${exact(s.end - s.start)}), ${d.kinds[s.kind]}`]
    if (i === undefined) lines.push("free here")
    else lines.push(`${sizeText(d.bytes[i])} (${exact(d.bytes[i])}) of ${d.sites[d.site[i]]}`,
        d.event[i] ? `since event ${count(d.event[i])}` : "there before the trace")
    tip(event, lines)
}

function overTimeline(event) {
    const i = Math.max(0, Math.min(hits.wide - 1, Math.floor(event.offsetX - LEFT)))
    const m = hits.moments[i]
    const lines = [`event ${count(m)}`, `allocated ${sizeText(d.live[m])} (${exact(d.live[m])})`,
        `reserved ${sizeText(d.reserved[m])} (${exact(d.reserved[m])})`]
    let below = 0
    d.groups.forEach(([name], group) => {
        const size = hits.table[i][group], top = hits.y(below + size), foot = hits.y(below)
        if (size && event.offsetY >= top && event.offsetY < foot) lines.push(`${name}: ${sizeText(size)}`)
        below += size
    })
    tip(event, lines)
}

function listen() {
    const canvas = $("timeline"), at = x => low + (x - LEFT) / hits.wide * (high - low)
    canvas.onpointerdown = e => {
        drag = { from: e.offsetX, low, high, move: e.shiftKey }
        canvas.setPointerCapture(e.pointerId)
    }
    canvas.onpointermove = e => {
        if (!drag) return overTimeline(e)
        tip(e, null)
        drag.to = e.offsetX
        const moved = (drag.from - e.offsetX) / hits.wide * (drag.high - drag.low)
        if (drag.move) zoomTo(drag.low + moved, drag.high + moved)
        else draw()
    }
    canvas.onpointerup = e => {
        const { from, move } = drag ?? {}
        drag = null
        if (from === undefined || move) return
        if (Math.abs(e.offsetX - from) < 5) go(at(e.offsetX))
        else zoomTo(Math.min(at(from), at(e.offsetX)), Math.max(at(from), at(e.offsetX)))
    }
    canvas.onwheel = e => {
        e.preventDefault()
        const moved = (e.deltaX || (e.shiftKey ? e.deltaY : 0)) / hits.wide * (high - low)
        if (moved) zoomTo(low + moved, high + moved)
        else zoom(e.deltaY > 0 ? 1.25 : 0.8, at(e.offsetX))
    }
    canvas.ondblclick = () => zoomTo(0, d.last)
    canvas.onpointerleave = e => tip(e, null)
    $("map").onpointermove = overMap
    $("map").onpointerleave = e => tip(e, null)
    $("slider").oninput = () => { reveal(+$("slider").value); go(+$("slider").value) }
    $("device").onchange = () => choose($("device").selectedIndex)
    const oom = () => go(d.ooms.find(m => m > moment) ?? d.ooms[0] ?? moment)
    $("to-peak").onclick = () => { reveal(d.peak); go(d.peak) }
    $("to-oom").onclick = () => { oom(); reveal(moment) }
    $("zoom-in").onclick = () => zoom(0.5)
    $("zoom-out").onclick = () => zoom(2)
    $("reset").onclick = () => zoomTo(0, d.last)
    const hundredth = () => Math.max(Math.round((high - low) / 100), 1)
    const keys = {
        ArrowRight: () => moment + 1, ArrowLeft: () => moment - 1, Home: () => 0, End: () => d.last,
        PageDown: () => moment + hundredth(), PageUp: () => moment - hundredth(),
    }
    const buttons = { p: "to-peak", o: "to-oom", "+": "zoom-in", "-": "zoom-out", r: "reset" }
    document.onkeydown = e => {
        if (e.ctrlKey || e.metaKey || e.altKey || e.target.tagName === "SELECT") return
        if (e.key in buttons) return $(buttons[e.key]).click()
        if (!(e.key in keys)) return
        e.preventDefault()
        go(keys[e.key]())
        reveal(moment)
    }
    onresize = () => { draw(); showMoment() }
}

async function begin() {
    const unpacked = await unpack()
    words = unpacked.words, bytes = unpacked.columns
    $("name").textContent = words.name
    for (const device of words.devices) put($("device"), "option", `${device.number}`)
    $("choice").hidden = words.devices.length < 2
    $("device").selectedIndex = words.first
    document.querySelector("main").hidden = false
    choose(words.first)
    listen()
    document.documentElement.dataset.ready = "yes"
}

begin().catch(problem => {
    $("sentence").textContent = "This browser is too old to open the page, or the file is damaged: "
        + problem.message
})
