// What the page does: choosing, finding, measuring, and moving through a trace. Everything that the
// file says is put in as text, never as HTML.

let device, hitPlaces = [], hitNow = -1, walked = {}, waiting = 0, pointer = null

// ---- moving

function later() {
    waiting ||= requestAnimationFrame(() => { waiting = 0; draw() })
}

function zoomTo(from, to) {
    const least = Math.min(20, t.length || 20), edge = 0.02 * t.length + 1
    const span = Math.min(Math.max(to - from, least), t.length + 2 * edge)
    low = Math.max(-edge, Math.min((from + to - span) / 2, t.length + edge - span))
    high = low + span
    later()
}

const whole = () => zoomTo(-0.01 * t.length, 1.01 * t.length)
const pan = share => zoomTo(low + share * (high - low), high + share * (high - low))

function zoom(factor, around = middle()) {
    zoomTo(around - (around - low) * factor, around + (high - around) * factor)
}

// What zooming keeps in its place: the pointer, if it is over the lanes, else the middle.
function middle() {
    return pointer === null ? (low + high) / 2 : Math.max(low, Math.min(high, momentAt(pointer)))
}

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
    later()
}

const callOf = i => t.launch[i] - 1

function chooseGap(of, place) {
    const { start, end, endedBy } = of.gaps, next = endedBy[place] - 1
    const known = next >= 0 && callOf(next) >= 0
    chosen = { event: -1, gap: true, span: [start[place], end[place]], next,
        flows: known ? [[callOf(next), next]] : [] }
    tellGap(of, place, next)
    later()
}

function clear() {
    chosen = marked = null
    find("")
    $("text").value = ""
    tellNothing()
    later()
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
    else { chosen = null; tellNothing(); later() }
}

// To the event before or after in the row, or to the one above or below in the lane.
function walk(key) {
    const i = chosen.event, row = rowOf(i), by = { ArrowLeft: -1, ArrowRight: 1 }[key]
    if (by) return i + by >= row.first && i + by < row.last && choose(i + by)
    const rows = row.lane.all, up = key === "ArrowUp"
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

function find(text) {
    hits = null
    hitPlaces = []
    hitNow = -1
    $("result").textContent = ""
    $("result").title = ""
    if (text) {
        try {
            hits = matching(text)
        } catch (problem) {
            $("result").textContent = "that is no expression"
            $("result").title = problem.message
            return later()
        }
        hitPlaces = found(hits)
        const took = hitPlaces.reduce((sum, i) => sum + t.end[i] - t.start[i], 0)
        $("result").textContent = `${count(hitPlaces.length)} found`
            + (hitPlaces.length ? `, ${timeText(took)} in all` : "")
    }
    later()
}

function toMatch(by) {
    if (!hitPlaces.length) return
    const many = hitPlaces.length
    if (hitNow < 0) {
        hitPlaces.sort(inTime)
        const first = hitPlaces.findIndex(i => t.end[i] >= low)
        hitNow = by > 0 ? first - 1 : Math.max(first, 0)
    }
    hitNow = (hitNow + by + 2 * many) % many
    choose(hitPlaces[hitNow])
    $("result").textContent = $("result").textContent.replace(/^([\d,]+ of )?/, `${count(hitNow + 1)} of `)
}

// ---- measuring

function mark(from, to) {
    marked = [Math.max(Math.min(from, to), 0), Math.min(Math.max(from, to), t.length)]
    tellMarked()
    later()
}

// ---- the buttons, the pointer and the keys

function tipFor(event) {
    const { event: i, gap, device: of, queue, moment } = under(event.offsetX, event.offsetY)
    if (i >= 0) return tip(event, [words.names[t.name[i]].slice(0, 200), timeText(t.end[i] - t.start[i])])
    if (gap >= 0) {
        const { start, end, why } = of.gaps
        return tip(event, [`GPU ${of.number}: ${words.waits[why[gap]][0]}`, timeText(end[gap] - start[gap])])
    }
    if (!queue) return tip(event, null)
    const at = above(queue.times, 0, queue.times.length, moment) - 1
    tip(event, [`${count(at < 0 ? 0 : queue.length[at])} launched and not yet begun`])
}

function listenTo(canvas) {
    const ruler = canvas.id === "ruler"
    canvas.onpointerdown = e => {
        if (e.button || e.offsetX < LEFT) return
        const does = ruler || e.shiftKey ? "move" : e.ctrlKey || e.metaKey ? "mark" : "zoom"
        drag = { x: e.offsetX, low, high, from: momentAt(e.offsetX), does, before: marked }
        canvas.setPointerCapture(e.pointerId)
    }
    canvas.onpointermove = e => {
        pointer = ruler ? null : e.offsetX
        if (!drag) return ruler || tipFor(e)
        drag.far ||= Math.abs(e.offsetX - drag.x) > 3
        if (!drag.far) return
        tip(e, null)
        const by = (drag.x - e.offsetX) / wide * (drag.high - drag.low)
        if (drag.does === "move") return zoomTo(drag.low + by, drag.high + by)
        marked = [drag.from, momentAt(e.offsetX)].sort((a, b) => a - b)
        tip(e, [timeText(marked[1] - marked[0])])
        later()
    }
    canvas.onpointercancel = () => { drag = null }
    canvas.onpointerup = e => {
        if (!drag) return
        const { does, from, far, before } = drag, to = momentAt(e.offsetX)
        drag = null
        if (!far && !ruler) pick(e.offsetX, e.offsetY)
        else if (far && does === "mark") mark(from, to)
        else if (far && does === "zoom") {
            marked = before
            zoomTo(Math.min(from, to), Math.max(from, to))
        }
    }
    canvas.onwheel = e => {
        if (e.offsetX < LEFT && !ruler) return
        e.preventDefault()
        const by = e.deltaX || (e.shiftKey ? e.deltaY : 0)
        if (by) pan(by / wide)
        else zoom(e.deltaY > 0 ? 1.25 : 0.8, momentAt(Math.max(e.offsetX, LEFT)))
    }
    canvas.onpointerleave = e => {
        pointer = null
        tip(e, null)
    }
    canvas.ondblclick = whole
}

function listen() {
    const rows = () => {
        tall = !tall
        $("rows").ariaPressed = tall
        layOut()
        showHeads()
        later()
    }
    const buttons = {
        "zoom-in": () => zoom(0.5, (low + high) / 2), "zoom-out": () => zoom(2, (low + high) / 2), fit,
        "mark": () => mark(...(chosen?.span ?? [low, high])), rows, "reset": whole,
        "before": () => toMatch(-1),
    }
    for (const id in buttons) $(id).onclick = buttons[id]
    const arrows = key => () => {
        if (chosen?.event >= 0) return walk(key)
        if (key === "ArrowLeft" || key === "ArrowRight") return pan(key === "ArrowLeft" ? -0.1 : 0.1)
        $("scroller").scrollTop += key === "ArrowUp" ? -40 : 40
    }
    const keys = {
        w: () => zoom(0.7), s: () => zoom(1 / 0.7), a: () => pan(-0.2), d: () => pan(0.2), f: fit,
        "+": () => zoom(0.7), "-": () => zoom(1 / 0.7), r: whole, m: buttons.mark, t: rows,
        g: counterpart, n: () => toMatch(1), N: () => toMatch(-1), Escape: clear,
        "/": () => $("text").focus(), Home: () => zoomTo(0, high - low),
        End: () => zoomTo(t.length - high + low, t.length),
    }
    for (const key of ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"]) keys[key] = arrows(key)
    document.onkeydown = e => {
        if (e.key === "Enter" && e.target === $("lanes")) return chooseMiddle()
        const typing = e.target.tagName === "INPUT" || e.target.tagName === "SELECT"
        if (e.ctrlKey || e.metaKey || e.altKey || !Object.hasOwn(keys, e.key)) return
        if (typing && e.key !== "Escape") return
        e.preventDefault()
        if (typing) e.target.blur()
        keys[e.key]()
    }
    for (const id of ["lanes", "ruler"]) listenTo($(id))
    $("text").oninput = () => find($("text").value)
    $("search").onsubmit = e => { e.preventDefault(); toMatch(1) }
    $("scroller").onscroll = later
    $("device").onchange = () => { walked = {}; showDevice($("device").selectedIndex) }
    onresize = () => { layOut(); showHeads(); draw() }
    onTheme(draw)
}

async function begin() {
    await unpack()
    t = opened()
    colours = words.kinds.reduce((all, [kind, , shades]) => ({ ...all, [kind]: shades }), {})
    document.querySelector("main").hidden = false
    for (const { number } of t.devices) put($("device"), "option", `GPU ${number}`)
    $("device").hidden = t.devices.length < 2
    showDevice(0)
    showLegend()
    layOut()
    showHeads()
    whole()
    tellNothing()
    listen()
    draw()
    document.documentElement.dataset.ready = "yes"
}

begin().catch(problem => {
    $("sentence").textContent = `The page can't be shown; a newer browser may. (${problem.message})`
})
