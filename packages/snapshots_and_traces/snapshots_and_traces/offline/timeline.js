// The timeline that both pages have: the part of time that is shown, how the pointer, the wheel,
// the keys and the buttons move it, and the search. Each page says in `page` what is its own:
//   left, right      pixels beside the axis of time
//   begin, end       the first and the last moment that can be shown
//   least            the shortest time that can be shown
//   draw()           draws what is between `low` and `high`
//   timeText(time)   a length of time in words
//   focus()          the moment that keys and buttons zoom to; null for the middle
//   mark(from, to)   what Ctrl and a drag do; left out where they do nothing
//   find(has, text)  the matches of a search, in order of time, and words on all of them
//   isAfter(match), current(), show(match)   where the search goes on, and goes to
//   keys             what further keys do

let page, low = 0, high = 1, wide = 1
let pointer = null, drag = null, frame = 0, matches = [], onMatches = ""

const X = moment => page.left + (moment - low) / (high - low) * wide
const momentAt = x => low + (x - page.left) / wide * (high - low)

// ---- the part that is shown

function redraw() {
    frame ||= requestAnimationFrame(() => { frame = 0; page.draw() })
}

function zoomTo(from, to) {
    const span = Math.min(Math.max(to - from, page.least), page.end - page.begin)
    low = Math.max(page.begin, Math.min((from + to - span) / 2, page.end - span))
    high = low + span
    redraw()
}

const whole = () => zoomTo(page.begin, page.end)
const pan = share => zoomTo(low + share * (high - low), high + share * (high - low))

function zoom(factor, around = middle()) {
    zoomTo(around - (around - low) * factor, around + (high - around) * factor)
}

// What zooming keeps in its place: the pointer, else what is selected, else the middle.
function middle() {
    const wanted = pointer === null ? page.focus() : momentAt(pointer)
    return wanted === null || wanted < low || wanted > high ? (low + high) / 2 : wanted
}

// A canvas to draw the time on, from edge to edge.
function timeCanvas(id) {
    const drawn = canvasOf(id)
    wide = Math.max(Math.floor(drawn.width - page.left - page.right), 10)
    return drawn
}

// Round moments of the axis, about so many pixels apart, and the step between them.
function ticks(apart, least = 0) {
    const step = Math.max(round((high - low) / Math.max(wide / apart, 2)), least), found = []
    for (let n = Math.ceil(low / step); n * step <= high; n++) found.push(n * step + 0)
    return { step, found }
}

// ---- the pointer

// The time that is being dragged over, to be zoomed to or to be marked.
function dragged() {
    if (!drag || drag.to === null || drag.does === "move") return null
    return [drag.from, drag.to].sort((a, b) => a - b)
}

// A canvas moves the time: by a drag on it always where it `moves`. A click does `click(event)`;
// `hover(event)` gives the lines beside the pointer.
function follow(canvas, { moves = false, click = () => {}, hover = () => null }) {
    canvas.onpointerdown = e => {
        if (e.button || e.offsetX < page.left) return
        const marks = page.mark && (e.ctrlKey || e.metaKey)
        const does = moves || e.shiftKey ? "move" : marks ? "mark" : "zoom"
        drag = { does, x: e.offsetX, low, high, from: momentAt(e.offsetX), to: null }
        canvas.setPointerCapture(e.pointerId)
    }
    canvas.onpointermove = e => {
        pointer = e.offsetX
        if (!drag) return tip(e, hover(e))
        if (drag.to === null && Math.abs(e.offsetX - drag.x) < 4) return
        drag.to = momentAt(e.offsetX)
        const span = dragged(), by = (drag.x - e.offsetX) / wide * (drag.high - drag.low)
        tip(e, span && [page.timeText(span[1] - span[0])])
        if (span) redraw()
        else zoomTo(drag.low + by, drag.high + by)
    }
    canvas.onpointerup = e => {
        if (!drag) return
        const span = dragged(), { does, to } = drag
        drag = null
        if (to === null) click(e)
        else if (does === "mark") page.mark(...span)
        else if (does === "zoom") zoomTo(...span)
    }
    canvas.onpointercancel = () => { drag = null }
    canvas.onpointerleave = e => {
        pointer = null
        tip(e, null)
    }
    canvas.onwheel = e => {
        e.preventDefault()
        const across = e.deltaX || (e.shiftKey ? e.deltaY : 0)
        if (across) pan(across / wide)
        else zoom(e.deltaY > 0 ? 1.25 : 0.8, momentAt(Math.max(e.offsetX, page.left)))
    }
    canvas.ondblclick = whole
}

// ---- the search

// Whether a text has another in it, or matches an /expression/; throws where that is none.
function matcher(text) {
    const parts = text.match(/^\/(.+)\/(i?)$/), wanted = text.toLowerCase()
    if (!parts) return name => name.toLowerCase().includes(wanted)
    const rule = new RegExp(parts[1], parts[2])
    return name => rule.test(name)
}

function search() {
    const text = $("text").value.trim()
    let has = null
    $("result").title = ""
    try {
        if (text) has = matcher(text)
    } catch (problem) {
        $("result").title = problem.message
    }
    [matches, onMatches] = page.find(has, text)
    showResult()
    if ($("result").title) $("result").textContent = "that is no expression"
    redraw()
}

function showResult() {
    const at = matches.indexOf(page.current()), which = at < 0 ? "" : `${count(at + 1)} of `
    const all = `${count(matches.length)} found${matches.length ? onMatches : ""}`
    $("result").textContent = $("text").value.trim() ? which + all : ""
}

function toMatch(by) {
    const many = matches.length, at = matches.indexOf(page.current())
    if (!many) return
    const after = matches.findIndex(page.isAfter), next = after < 0 ? many : after
    const to = at >= 0 ? at + by : by > 0 ? next : next - 1
    page.show(matches[(to + many) % many])
    showResult()
}

function clearSearch() {
    $("text").value = ""
    search()
}

// ---- the keys and the buttons

const keys = {
    w: () => zoom(0.7), s: () => zoom(1 / 0.7), a: () => pan(-0.2), d: () => pan(0.2),
    n: () => toMatch(1), N: () => toMatch(-1), "/": () => $("text").focus(), Escape: clearSearch,
}

// A button of the header, and the key that does the same.
function addButton(text, key, act, hint = "") {
    keys[key] = act
    return put($("buttons"), "button", text, { title: `key ${key}${hint}`, onclick: act })
}

function listen() {
    addButton("zoom in", "+", () => zoom(0.5), ", w or the wheel")
    addButton("zoom out", "-", () => zoom(2), ", s or the wheel")
    addButton("show all", "r", whole, ", or a double click")
    Object.assign(keys, page.keys)
    document.onkeydown = e => {
        const typing = e.target.matches("select, [type=search]")
        if (e.ctrlKey || e.metaKey || e.altKey || !Object.hasOwn(keys, e.key)) return
        if (typing && e.key !== "Escape") return
        e.preventDefault()
        if (typing) e.target.blur()
        keys[e.key]()
    }
    $("text").oninput = search
    $("search").onsubmit = e => { e.preventDefault(); toMatch(1) }
    $("before").onclick = () => toMatch(-1)
}

// Shows a page once its data is unpacked: `show` sets `page` and draws for the first time.
async function begin(show) {
    try {
        await unpack()
        document.querySelector("main").hidden = false
        show()
        listen()
        page.draw()
        document.documentElement.dataset.ready = "yes"
    } catch (problem) {
        $("sentence").textContent = `The page can't be shown; a newer browser may. (${problem.message})`
    }
}
