// Makes a trace ready to be drawn: events by row and time, who launched what, and texts of times.
// All times are in nanoseconds from the first event.

const TIMES = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]]

function timeText(ns) {
    const [unit, name] = TIMES.find(([one]) => Math.abs(ns) >= 0.9995 * one) ?? [1, "ns"]
    const value = ns / unit
    return `${Math.abs(value) >= 999.5 ? count(Math.round(value)) : +value.toPrecision(3)} ${name}`
}

// The unit of moments: of every place on the axis, and of when an event begins.
const momentUnit = () => t.length < 1e6 ? [1e3, "µs"] : [1e6, "ms"]

// A moment to the nanosecond, or less exactly where that is asked for.
function momentText(ns, digits = momentUnit()[0] === 1e3 ? 3 : 6) {
    const [unit, name] = momentUnit()
    return `${(ns / unit).toLocaleString("en", { maximumFractionDigits: digits })} ${name}`
}

const shareText = share => share > 0 && share < 0.005 ? "<1%" : `${Math.round(100 * share)}%`

// The first place from `low` on, below `high`, whose value is above `limit`; `high` if none is.
function above(values, low, high, limit) {
    while (low < high) {
        const middle = (low + high) >> 1
        if (values[middle] > limit) high = middle
        else low = middle + 1
    }
    return low
}

// The trace: columns by name, `rows` with the places of their events, `launched` the events of
// GPUs by the place of their launch.
function opened() {
    const t = { ...columns(words.events), lanes: words.lanes, rows: [], length: words.end }
    t.start = Float64Array.from(t.passed)
    let first = 0
    words.lanes.forEach((lane, number) => {
        lane.all = lane.rows.map((length, depth) => {
            const row = { first, last: first + length, lane, number, depth }
            row.isBand = depth < lane.bands
            running(t.start.subarray(first, row.last))
            first = row.last
            t.rows.push(row)
            return row
        })
    })
    t.end = t.start.map((start, i) => start + t.took[i])
    t.firsts = Float64Array.from(t.rows, row => row.first)
    const known = []
    t.launch.forEach((launch, i) => { if (launch) known.push(i) })
    t.launched = Uint32Array.from(known.sort((a, b) => t.launch[a] - t.launch[b] || a - b))
    t.launches = Float64Array.from(t.launched, i => t.launch[i] - 1)
    t.devices = words.devices.map(openedDevice)
    return t
}

function openedDevice(device) {
    const gaps = columns(device.gaps), queue = columns(device.queue)
    gaps.start = Float64Array.from(gaps.begin)
    gaps.end = gaps.start.map((start, i) => start + gaps.took[i])
    queue.times = running(Float64Array.from(queue.passed))
    queue.most = queue.length.reduce((most, one) => Math.max(most, one), 0)
    const spans = columns(device.path.spans), start = Float64Array.from(spans.begin)
    const end = start.map((begin, i) => begin + spans.took[i])
    const inLanes = words.lanes.map(() => ({ start: [], end: [] }))
    spans.lane.forEach((lane, i) => {
        inLanes[lane].start.push(start[i])
        inLanes[lane].end.push(end[i])
    })
    return { ...device, gaps, queue, path: { ...device.path, start, end, lane: spans.lane, inLanes } }
}

const rowOf = i => t.rows[above(t.firsts, 0, t.firsts.length, i) - 1]

// The places of a row's events that lie in a time, from the first to before the last.
function between(row, from, to) {
    const first = above(t.end, row.first, row.last, from)
    let last = above(t.start, first, row.last, to)
    while (last > first && t.start[last - 1] >= to) last--
    return [first, last]
}

// What the calls at these places, from the first to before the last, launched.
function launchedBy(first, last) {
    const from = above(t.launches, 0, t.launches.length, first - 1)
    return t.launched.subarray(from, above(t.launches, from, t.launches.length, last - 1))
}

// What an event of the host launched: itself, or the calls inside it on its thread.
function launchedIn(i) {
    const found = []
    for (const row of rowOf(i).lane.all) {
        let [first, last] = between(row, t.start[i], t.end[i])
        while (first < last && t.start[first] < t.start[i]) first++
        for (const one of launchedBy(first, last)) found.push(one)
    }
    for (const one of launchedBy(i, i + 1)) if (!found.includes(one)) found.push(one)
    return found.sort((a, b) => t.start[a] - t.start[b])
}

// How much of a time is in any of these rows' events.
function busy(rows, from, to) {
    const spans = []
    for (const row of rows) {
        const [first, last] = between(row, from, to)
        for (let i = first; i < last; i++) spans.push([t.start[i], t.end[i]])
    }
    spans.sort((a, b) => a[0] - b[0])
    let all = 0, reached = from
    for (const [start, end] of spans) {
        all += Math.max(0, Math.min(end, to) - Math.max(start, reached))
        reached = Math.max(reached, Math.min(end, to))
    }
    return all
}

// The places of events with such names, in order of time.
function found(names) {
    const places = []
    t.name.forEach((name, i) => { if (names[name]) places.push(i) })
    return places.sort((a, b) => t.start[a] - t.start[b] || a - b)
}

// A kernel's name without what it is called with: what fits a bar.
function shortName(i) {
    const name = words.names[t.name[i]]
    if (t.kind[i] !== KERNEL && t.kind[i] !== MESSAGE) return name
    const plain = name.replace(/^void /, "").replaceAll("(anonymous namespace)::", "")
    return plain.split(/[<(]/)[0].split("::").pop() || name
}
