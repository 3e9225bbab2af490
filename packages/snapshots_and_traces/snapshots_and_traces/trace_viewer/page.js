// What the page does: choosing, finding, measuring, and moving through a trace. Everything that the
// file says is put in as text, never as HTML.

let device, walked = {}

// ---- moving

// Brings an event's row into the height that is shown.
function showRow(i) {
    const box = boxOf(i, 0), view = $("scroller")
    if (box.y < view.scrollTop || box.foot > view.scrollTop + view.clientHeight) {
        view.scrollTop = (box.y + box.foot - view.clientHeight) / 2
    }
}

function showSpan(from, to, room = 1) {
    const span = Math.max(to - from, 10)
    zoomTo(from - room * span, to + room * span)
}

// ---- choosing

function choose(i, comes = true) {
    const launch = t.launch[i] - 1
    const flows = launch >= 0 ? [[launch, i]] : launchedIn(i).map(one => [callOf(one), one])
    chosen = { event: i, span: [t.start[i], t.end[i]], flows }
    if (comes) {
        showRow(i)
        if (t.end[i] < low || t.start[i] > high) {
            const half = (high - low) / 2, at = (t.start[i] + t.end[i]) / 2
            zoomTo(at - half, at + half)
        }
    }
    tellEvent(i, flows)
    redraw()
}

const callOf = i => t.launch[i] - 1

function chooseGap(of, place) {
    const { start, end, endedBy } = of.gaps, next = endedBy[place] - 1
    const known = next >= 0 && callOf(next) >= 0
    chosen = { event: -1, gap: true, span: [start[place], end[place]], next,
        flows: known ? [[callOf(next), next]] : [] }
    tellGap(of, place, next)
    redraw()
}

function clear() {
    chosen = marked = null
    clearSearch()
    tellNothing()
}

// What stands at a place of the lanes: the event, or the idle time, or how many launches wait.
function under(x, y) {
    const at = y + $("scroller").scrollTop
    const block = blocks.find(one => at >= one.y && at < one.y + one.height)
    if (!block || x < LEFT || x > LEFT + wide) return {}
    if (block.queue) return { queue: block.queue, moment: momentAt(x) }
    const place = block.rows.find(one => at >= one.y && at < one.y + one.height)
    if (place) {
        const [first, last] = between(place.row, momentAt(x - 1.5), momentAt(x + 1.5))
        let best = -1
        for (let i = first; i < last; i++) {
            if (hits && best >= 0 && hits[t.name[best]] > hits[t.name[i]]) continue
            const better = best < 0 || t.end[i] - t.start[i] > t.end[best] - t.start[best]
            if (better || (hits?.[t.name[i]] && !hits[t.name[best]])) best = i
        }
        if (best >= 0) return { event: best }
    }
    if (!block.device) return {}
    const { start, end } = block.device.gaps, gap = above(end, 0, end.length, momentAt(x))
    return start[gap] <= momentAt(x) ? { gap, device: block.device } : {}
}

function pick(x, y) {
    const { event, gap, device } = under(x, y)
    if (event >= 0) choose(event, false)
    else if (gap >= 0) chooseGap(device, gap)
    else { chosen = null; tellNothing(); redraw() }
}

// To the event before or after in the row, or to the one above or below in the lane; where no event
// is selected, an arrow moves the view.
function walk(key) {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[key], up = key === "ArrowUp"
    if (!(chosen?.event >= 0)) {
        if (by) pan(0.1 * by)
        else $("scroller").scrollTop += up ? -40 : 40
        return
    }
    const i = chosen.event, row = rowOf(i), rows = row.lane.all
    if (by) return i + by >= row.first && i + by < row.last && choose(i + by)
    for (let at = row.depth + (up ? -1 : 1); at >= 0 && at < rows.length; at += up ? -1 : 1) {
        const [first, last] = between(rows[at], t.start[i], Math.max(t.end[i], t.start[i] + 1))
        if (first < last) return choose(first)
    }
}

// The event nearest to the middle of what is shown, from the top.
function chooseMiddle() {
    const at = (low + high) / 2, top = $("scroller").scrollTop
    for (const block of blocks) {
        for (const { row, y } of block.rows) {
            const i = Math.max(above(t.start, row.first, row.last, at) - 1, row.first)
            if (y >= top && t.end[i] > low && t.start[i] < high) return choose(i)
        }
    }
}

function counterpart() {
    const [flow] = chosen?.flows ?? []
    if (flow) choose(flow[1] === chosen.event || chosen.gap ? flow[0] : flow[1])
}

function fit() {
    if (chosen) showSpan(...chosen.span, 0.3)
    else if (marked) showSpan(...marked, 0.1)
}

// ---- finding

function find(has) {
    hits = has && words.names.map(has)
    const places = hits ? found(hits) : []
    const took = places.reduce((sum, i) => sum + t.end[i] - t.start[i], 0)
    return [places, `, ${timeText(took)} in all`]
}

// ---- measuring

function mark(from, to) {
    marked = [Math.max(Math.min(from, to), 0), Math.min(Math.max(from, to), t.length)]
    tellMarked()
    redraw()
}

// ---- the buttons, the pointer and the keys

function hover(event) {
    const { event: i, gap, device: of, queue, moment } = under(event.offsetX, event.offsetY)
    if (i >= 0) return [words.names[t.name[i]].slice(0, 200), timeText(t.end[i] - t.start[i])]
    if (gap >= 0) {
        const { start, end, why } = of.gaps
        return [`GPU ${of.number}: ${words.waits[why[gap]][0]}`, timeText(end[gap] - start[gap])]
    }
    if (!queue) return null
    const at = above(queue.times, 0, queue.times.length, moment) - 1
    return [`${count(at < 0 ? 0 : queue.length[at])} launched and not yet begun`]
}

function listenToAll() {
    addButton("fit", "f", fit, ": what is selected, as wide as the page")
    addButton("measure", "m", () => mark(...(chosen?.span ?? [low, high])),
        ", or Ctrl and drag: how long, and how much of it was busy")
    const rows = addButton("tall rows", "t", () => {
        tall = !tall
        rows.ariaPressed = tall
        showLanes()
    }, ": rows high enough to be read")
    rows.ariaPressed = tall
    const path = addButton("critical path", "p", () => {
        onPath = !onPath
        path.ariaPressed = onPath
        walked = {}
        showDevice($("device").selectedIndex)
        redraw()
    }, ": what each moment waited for")
    path.ariaPressed = onPath
    follow($("lanes"), { click: e => pick(e.offsetX, e.offsetY), hover })
    follow($("ruler"), { moves: true })
    $("lanes").onkeydown = e => { if (e.key === "Enter") chooseMiddle() }
    $("scroller").onscroll = redraw
    $("device").onchange = () => { walked = {}; showDevice($("device").selectedIndex); redraw() }
    onresize = showLanes
    onTheme(draw)
}

begin(() => {
    t = opened()
    const margin = 0.01 * t.length + 1
    page = {
        left: LEFT, right: RIGHT, begin: -margin, end: t.length + margin, least: 20,
        draw, timeText, mark, find, isAfter: i => t.end[i] >= low, show: choose,
        current: () => chosen?.event ?? -1,
        focus: () => chosen && (chosen.span[0] + chosen.span[1]) / 2,
        keys: {
            g: counterpart, Escape: clear, Home: () => zoomTo(0, high - low),
            End: () => zoomTo(t.length - high + low, t.length),
        },
    }
    for (const key of ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"]) page.keys[key] = () => walk(key)
    colours = words.kinds.reduce((all, [kind, , shades]) => ({ ...all, [kind]: shades }), {})
    for (const { number } of t.devices) put($("device"), "option", `GPU ${number}`)
    $("choice").hidden = t.devices.length < 2
    showDevice(0)
    showLegend()
    showLanes()
    whole()
    tellNothing()
    listenToAll()
})
