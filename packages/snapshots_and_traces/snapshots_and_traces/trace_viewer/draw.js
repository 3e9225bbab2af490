// Draws the lanes of a trace between two moments, at any width: events narrower than a pixel are
// drawn together, as dark as they fill it.

const INK = "#222222", LEFT = 158, RIGHT = 10, GAP = 6, BAND = 14, STREAM = 22, QUEUE = 34
const LEAST_LANE = 16, LEAST_ROW = 5, TALL_ROW = 16, MOST_ARROWS = 40
const [OTHER, OPERATOR, ANNOTATION, RUNTIME, KERNEL, COPY, BLOCKING, MESSAGE] = Array(8).keys()
// ---- what is drawn: trace `t`; the `chosen` event or idle time; by name, whether the search `hits`

let t, chosen = null, hits = null, marked = null, blocks = []
let blockOf, colours, tall = false, onPath = false
const folded = new Set()

// The lanes from the top down, each with its name; before a GPU's streams, what waits for it.
function listBlocks() {
    blocks = []
    blockOf = new Map()
    const begun = new Set()
    words.lanes.forEach((lane, number) => {
        const device = t.devices.find(one => one.number >= 0 && one.number === lane.device)
        const says = device && !begun.has(device)
        begun.add(device)
        if (says && device.queue.times.length) {
            const name = `GPU ${device.number}, launched and waiting: up to ${count(device.queue.most)}`
            blocks.push({ queue: device.queue, name, rows: [] })
        }
        blocks.push({ lane, number, name: lane.name, device, says })
        blockOf.set(lane, blocks.at(-1))
    })
}

// Where each lane and each row stands, with rows of the host of such a height; gives the lowest.
function place(height) {
    let y = GAP / 2
    for (const block of blocks) {
        const lane = block.lane
        let at = block.y = y
        if (lane) {
            const first = Math.min(lane.bands, lane.all.length - 1)
            const shown = folded.has(block.number) ? lane.all.slice(first, first + 1) : lane.all
            const own = lane.device >= 0 ? STREAM : Math.max(height, Math.floor(LEAST_LANE / shown.length))
            block.rows = shown.map(row => {
                const one = { row, y: at, height: row.isBand ? BAND : own }
                at += one.height
                return one
            })
        } else at += QUEUE
        block.height = Math.max(at - y, LEAST_LANE)
        y += block.height + GAP
    }
    return y
}

// Gives rows of the host the room that is left, within bounds.
function layOut() {
    listBlocks()
    const room = $("scroller").clientHeight, spare = room - place(0)
    const many = words.lanes.filter(lane => lane.device < 0)
        .reduce((sum, lane) => sum + lane.rows.length - lane.bands, 0)
    const height = Math.max(LEAST_ROW, Math.min(TALL_ROW, Math.floor(spare / Math.max(many, 1))))
    $("tall").style.height = `${Math.max(place(tall ? TALL_ROW : height), room)}px`
    $("lanes").style.height = `${room}px`
}

function draw() {
    const { pen, width, height } = timeCanvas("lanes"), top = $("scroller").scrollTop
    pen.textBaseline = "middle"
    for (const block of blocks) {
        const y = block.y - top
        if (y > height || y + block.height < 0) continue
        pen.fillStyle = tint(block.queue ? "paper" : "lane")
        pen.fillRect(LEFT, y, wide, block.height)
        if (block.queue) drawQueue(pen, block, y)
        if (block.device) drawGaps(pen, block, y)
        for (const one of block.rows) drawRow(pen, one, one.y - top)
        pen.fillStyle = tint("rule")
        pen.fillRect(0, y + block.height + GAP / 2 - 0.5, width, 1)
    }
    if (onPath) drawPath(pen, device.path, top)
    pen.fillStyle = "#88888866"
    for (const [, from, to] of words.steps) {
        for (const edge of [from, to]) pen.fillRect(X(edge) - 0.5, 0, 1, height)
    }
    const span = dragged() ?? marked
    if (span) shade(pen, span, height, tint("mark"))
    if (chosen) drawChosen(pen, height, top)
    pen.fillStyle = tint("paper")
    pen.fillRect(LEFT + wide + 1, 0, RIGHT, height)
    drawRuler(span)
    const shown = `${momentText(Math.max(low, 0))} to ${momentText(high)}`
    $("lanes").setAttribute("aria-label", `Threads and streams, from ${shown}`)
}

// Events of a row from left to right; those within one pixel are gathered in `thin`.
function drawRow(pen, { row, height }, y) {
    const [first, last] = between(row, low, high), scale = wide / (high - low), end = LEFT + wide
    const inner = height - (height > 8 ? 1 : 0.5)
    let pixel = -1, filled = 0, longest = -1, most = -1
    const flush = () => {
        if (longest < 0) return
        const hit = hits?.[t.name[longest]]
        pen.globalAlpha = hits && !hit ? 0.15 : hit ? 1 : Math.min(1, Math.max(filled, 0.3))
        pen.fillStyle = colours[t.kind[longest]][t.name[longest] % 3]
        pen.fillRect(pixel, y, 1, inner)
        longest = most = -1
    }
    for (let i = first; i < last; i++) {
        const from = Math.max(LEFT + (t.start[i] - low) * scale, LEFT)
        const to = Math.min(LEFT + (t.end[i] - low) * scale, end)
        if (to - from < 1) {
            const here = Math.floor(from), weight = to - from + (hits?.[t.name[i]] ? 2 : 0)
            if (here !== pixel) flush(), pixel = here, filled = 0
            filled += to - from
            if (weight > most) most = weight, longest = i
            continue
        }
        flush()
        pixel = -1
        drawEvent(pen, i, from, to, y, inner)
    }
    flush()
    pen.globalAlpha = 1
}

function drawEvent(pen, i, from, to, y, height) {
    const kind = t.kind[i], width = to - from - (to - from > 3 ? 0.7 : 0)
    pen.globalAlpha = hits && !hits[t.name[i]] ? 0.15 : 1
    pen.fillStyle = colours[kind][t.name[i] % 3]
    pen.fillRect(from, y, width, height)
    if (width < 24 || height < 10) return
    pen.fillStyle = kind === MESSAGE ? "#fff" : INK
    write(pen, shortName(i), from + 3, y + height / 2 + 0.5, width - 5)
}

// As many letters as there is room for.
function write(pen, text, x, y, room) {
    if (text.length * 6.2 > room) {
        let keep = Math.min(text.length, Math.ceil(room / 3))
        while (keep && pen.measureText(text.slice(0, keep) + "…").width > room) keep--
        text = keep > 1 ? text.slice(0, keep) + "…" : ""
    }
    pen.fillText(text, x, y)
}

// Idle times of a whole GPU, in each lane of its streams; the first one says why.
function drawGaps(pen, { device, height, says }, y) {
    const { start, end, why } = device.gaps
    let i = above(end, 0, end.length, low)
    for (; i < start.length && start[i] < high; i++) {
        const from = Math.max(X(start[i]), LEFT), to = Math.min(X(end[i]), LEFT + wide)
        if (to - from < 0.15) continue
        pen.fillStyle = words.waits[why[i]][1]
        pen.fillRect(from, y, to - from, height)
        if (!says || to - from < 50) continue
        pen.fillStyle = "#444"
        const text = `${words.waits[why[i]][0]}, ${timeText(end[i] - start[i])}`
        write(pen, text, from + 4, y + height - STREAM / 2, to - from - 6)
    }
}

// The critical path: a line along the foot of the lanes that it goes through; the rest is veiled.
function drawPath(pen, { inLanes, start, end, lane }, top) {
    const footOf = block => block.y + block.height - top
    for (const block of blocks.filter(one => one.lane)) {
        const own = inLanes[block.number], many = own.start.length, y = block.y - top
        let reached = LEFT
        const veil = to => {
            pen.globalAlpha = 0.78
            pen.fillStyle = tint("paper")
            pen.fillRect(reached, y, Math.max(to - reached, 0), block.height)
            pen.globalAlpha = 1
        }
        for (let i = above(own.end, 0, many, low); i < many && own.start[i] < high; i++) {
            const from = Math.max(X(own.start[i]), LEFT), to = Math.min(X(own.end[i]), LEFT + wide)
            if (from > reached) veil(from)
            reached = Math.max(reached, to, from + 1)
            pen.fillStyle = tint("alarm")
            pen.fillRect(from, footOf(block), Math.max(to - from, 1), 3)
        }
        veil(LEFT + wide)
    }
    const inHeight = new Map(blocks.map(block => [block.number, footOf(block) + 1.5]))
    pen.fillStyle = tint("alarm")
    let drawn = -1
    for (let i = Math.max(above(end, 0, end.length, low), 1); i < start.length && start[i] < high; i++) {
        const x = Math.round(X(start[i])), [a, b] = [lane[i - 1], lane[i]].map(one => inHeight.get(one))
        if (x < LEFT || x === drawn) continue
        drawn = x
        pen.fillRect(x - 0.75, Math.min(a, b), 1.5, Math.abs(a - b))
    }
}

// How many launches are waiting: of each pixel the most.
function drawQueue(pen, { queue, height }, y) {
    const { times, length, most } = queue, scale = (height - 2) / Math.max(most, 1)
    let i = above(times, 0, times.length, low), now = i ? length[i - 1] : 0
    pen.fillStyle = "#7FCEB8"
    for (let x = 0; x < wide; x++) {
        const to = momentAt(LEFT + x + 1)
        let top = now
        for (; i < times.length && times[i] <= to; i++) now = length[i], top = Math.max(top, now)
        if (top) pen.fillRect(LEFT + x, y + height - top * scale, 1, top * scale)
    }
}

function shade(pen, [from, to], height, colour) {
    const x = X(from), end = X(to)
    pen.fillStyle = `${colour}18`
    pen.fillRect(x, 0, end - x, height)
    pen.fillStyle = colour
    for (const edge of [x, end]) pen.fillRect(edge - 0.75, 0, 1.5, height)
}

// Where an event is drawn: left, top, right, bottom; null in a lane that is folded.
function boxOf(i, top) {
    const row = rowOf(i), block = blockOf.get(row.lane)
    const place = block.rows.find(one => one.row === row)
    const y = (place?.y ?? block.y) - top, height = place?.height ?? 8
    return { x: X(t.start[i]), end: X(t.end[i]), y, foot: y + height - 1 }
}

function drawChosen(pen, height, top) {
    pen.save()
    pen.beginPath()
    pen.rect(LEFT, 0, wide, height)
    pen.clip()
    if (chosen.gap) shade(pen, chosen.span, height, "#8C6D31")
    pen.strokeStyle = tint("ink")
    pen.lineWidth = 2
    if (chosen.event >= 0) {
        const { x, end, y, foot } = boxOf(chosen.event, top)
        pen.strokeRect(x - 1, y - 1, Math.max(end - x, 2) + 2, foot - y + 2)
    }
    for (const [from, to] of chosen.flows.slice(0, MOST_ARROWS)) arrow(pen, boxOf(from, top), boxOf(to, top))
    pen.restore()
}

// From the begin of a launch to the begin of what it launched.
function arrow(pen, from, to) {
    const down = to.y > from.y, y = down ? from.foot : from.y, end = down ? to.y : to.foot
    const bend = (end - y) / 2, head = down ? -7 : 7
    pen.lineWidth = 1.4
    pen.strokeStyle = pen.fillStyle = tint("alarm")
    pen.beginPath()
    pen.moveTo(from.x, y)
    pen.bezierCurveTo(from.x, y + bend, to.x, end - bend, to.x, end)
    pen.stroke()
    pen.beginPath()
    pen.moveTo(to.x, end)
    pen.lineTo(to.x - 3.5, end + head)
    pen.lineTo(to.x + 3.5, end + head)
    pen.fill()
}

function drawRuler(span) {
    const { pen, width, height } = canvasOf("ruler"), { step, found } = ticks(110)
    const seconds = step >= 1e9, digits = Math.max(0, Math.ceil(Math.log10(momentUnit()[0] / step) - 1e-9))
    pen.fillStyle = tint("ink")
    pen.textAlign = "center"
    for (const moment of found) {
        const x = X(moment), text = seconds ? `${count(moment / 1e9)} s` : momentText(moment, digits)
        pen.fillRect(x, height - 6, 1, 6)
        pen.fillText(text, Math.max(Math.min(x, width - 30), LEFT + 16), height - 10)
    }
    pen.textAlign = "left"
    pen.fillText(`${timeText(high - low)} shown`, 6, height - 10)
    if (!span) return
    const [x, end] = span.map(X)
    pen.fillStyle = tint("mark")
    pen.fillRect(x, height - 4, Math.max(end - x, 1), 4)
}
