// What the page says beside the lanes: of the trace, of an event, of an idle time, of a part of it.

function fact(name, text) {
    const line = put($("facts"), "p")
    put(line, "b", `${name}: `)
    line.append(text)
    return line
}

function jump(line, text, i) {
    line.append(" ")
    put(line, "button", text, { onclick: () => choose(i), title: words.names[t.name[i]] })
}

function begun(title) {
    $("title").textContent = title
    $("facts").replaceChildren()
}

function tellNothing() {
    begun("Click on anything to know what it is")
    put($("facts"), "p", "Time runs from left to right. In a lane of the host, one for each thread, a bar is an "
        + "operator, and the bars below it are what it called. Click on a part on the right to go to its longest.")
    if (device.number < 0) return
    put($("facts"), "p", "Green bars hand work to the GPU. In its lanes, one for each stream, stands what it "
        + "ran, and in pale colours why it ran nothing.")
}

function tellEvent(i, flows) {
    const row = rowOf(i), took = t.end[i] - t.start[i]
    begun(words.names[t.name[i]])
    fact("what", words.kinds.find(([kind]) => kind === t.kind[i])[1])
    fact("took", timeText(took))
    fact("on", row.lane.name)
    fact("begins", momentText(t.start[i]))
    const step = words.steps.find(([, from, to]) => t.start[i] >= from && t.start[i] < to)
    if (step && step[0] !== words.names[t.name[i]]) fact("in", step[0])
    if (t.numbers[i]) fact("sends", `${count(t.numbers[i] - 1)} numbers`)
    const around = row.depth > row.lane.bands && between(row.lane.all[row.depth - 1], t.start[i], t.start[i] + 1)
    if (around && around[0] < around[1]) jump(fact("inside", shortName(around[0])), "go", around[0])
    if ([KERNEL, COPY, MESSAGE].includes(t.kind[i])) tellLaunch(i)
    else tellLaunched(flows.map(([, one]) => one), t.start[i])
}

function delayText(launch, i) {
    const delay = t.start[i] - t.start[launch]
    if (delay < 0) return `it begins ${timeText(-delay)} before its launch: the clocks differ by that`
    return `${timeText(delay)} from launch to start`
}

function tellLaunch(i) {
    const launch = callOf(i)
    if (launch < 0) return fact("launch", "not in the trace")
    const line = fact("launched by", `${words.names[t.name[launch]]} on ${rowOf(launch).lane.name}`)
    jump(line, "go to it (g)", launch)
    fact("delay", delayText(launch, i))
}

function tellLaunched(places, from) {
    if (!places.length) return
    const took = places.reduce((sum, i) => sum + t.end[i] - t.start[i], 0), [first] = places
    const many = places.length === 1 ? "" : `${count(places.length)}, the first: `
    const line = fact("launched", `${many}${shortName(first)}`)
    jump(line, "go to it (g)", first)
    fact(places.length === 1 ? "that took" : "all of them took", timeText(took))
    fact("delay", delayText(callOf(first), first))
}

function tellGap(of, place, next) {
    const { start, end, why } = of.gaps, took = end[place] - start[place]
    begun(of.number < 0 ? "The host ran no operator: Python, or what wasn't traced" : `GPU ${of.number}: ${words.waits[why[place]][0]}`)
    fact("took", timeText(took))
    fact("begins", momentText(start[place]))
    const shares = words.waits.map(([what], n) => [what, of.gaps[`share${n}`][place]])
    const several = shares.filter(([, took]) => took > 0).sort((a, b) => b[1] - a[1])
    if (several.length > 1) fact("of which", several.map(([what, part]) => `${timeText(part)} ${what}`).join("; "))
    const waited = of.gaps.waited[place] - 1
    if (waited >= 0) {
        jump(fact("the call that waited", `${words.names[t.name[waited]]} on ${rowOf(waited).lane.name}`), "go", waited)
    }
    if (of.number < 0) return tellBetween(start[place], end[place])
    if (next < 0) return
    jump(fact("ended by", shortName(next)), "go", next)
    const launch = callOf(next)
    if (launch < 0) return fact("launch", "not in the trace, so the cause isn't known")
    const line = fact("its launch", `${words.names[t.name[launch]]} on ${rowOf(launch).lane.name}`)
    jump(line, "go", launch)
    const late = t.end[launch] - start[place]
    if (late > 0) fact("that launch ended", `${timeText(late)} after the GPU had nothing to do`)
    else fact("that launch ended", `${timeText(-late)} before the GPU had nothing to do`)
    tellMeanwhile(launch, start[place], end[place])
}

// The operators of the host that ended last before a time without one, and began first after it.
function tellBetween(from, to) {
    const rows = t.rows.filter(row => row.lane.device < 0 && !row.isBand)
    const ran = i => t.kind[i] === OPERATOR
    let before = -1, after = -1
    for (const row of rows) {
        let i = above(t.end, row.first, row.last, from) - 1
        while (i >= row.first && !ran(i)) i--
        if (i >= row.first && (before < 0 || t.end[i] > t.end[before])) before = i
        for (i = above(t.start, row.first, row.last, to - 1); i < row.last && !ran(i);) i++
        if (i < row.last && (after < 0 || t.start[i] < t.start[after])) after = i
    }
    if (before >= 0) jump(fact("after", words.names[t.name[before]]), "go", before)
    if (after >= 0) jump(fact("before", words.names[t.name[after]]), "go", after)
}

// What the thread that launched it did in the idle time: the operators that took most of it, and
// the calls to the GPU.
function tellMeanwhile(launch, from, to) {
    const { lane } = rowOf(launch), own = lane.all.slice(lane.bands)
    const said = mostIn(own.slice(0, 1), from, to, () => true)
    const none = to - from - busy(own.slice(0, 1), from, to)
    if (none > (to - from) / 20) said.push(`no operator ${timeText(none)}`)
    fact("meanwhile that thread", said.join("; "))
    const calls = mostIn(own, from, to, i => t.kind[i] === RUNTIME || t.kind[i] === BLOCKING)
    if (calls.length) fact("its calls to the GPU", calls.join("; "))
}

// The names of such events that took most of a time, and how much of it.
function mostIn(rows, from, to, wanted) {
    const sums = new Map()
    for (const row of rows) {
        const [first, last] = between(row, from, to)
        for (let i = first; i < last; i++) {
            if (!wanted(i)) continue
            const part = Math.min(t.end[i], to) - Math.max(t.start[i], from)
            sums.set(t.name[i], (sums.get(t.name[i]) ?? 0) + part)
        }
    }
    const most = [...sums].sort((a, b) => b[1] - a[1]).slice(0, 3)
    return most.map(([name, took]) => `${words.names[name]} ${timeText(took)}`)
}

function tellMarked() {
    const [from, to] = marked, took = to - from
    begun(`Measured: ${timeText(took)}, from ${momentText(from)} to ${momentText(to)}`)
    const inWords = rows => {
        const ran = busy(rows, from, to)
        return `${timeText(ran)} busy, ${shareText(ran / (took || 1))}`
    }
    const own = lane => lane.all.slice(lane.bands)
    for (const { number } of t.devices) {
        const streams = words.lanes.filter(lane => number >= 0 && lane.device === number)
        if (streams.length > 1) fact(`GPU ${number}, any stream`, inWords(streams.flatMap(own)))
    }
    const busiest = words.lanes.filter(lane => lane.rows.length > lane.bands)
    for (const lane of busiest.reverse()) fact(lane.name, inWords(own(lane)))
}

// ---- beside the lanes

function entry(list, colour, what, took, share, onclick) {
    const button = put(put(list, "li"), "button", "", { onclick, title: what })
    if (colour) put(button, "span", "", { className: "mark" }).style.background = colour
    put(button, "span", what, { className: "what" })
    put(button, "span", took, { className: "took" })
    if (share === null) return button
    put(button, "span", shareText(share), { className: "share" })
    const bar = put(button, "span", "", { className: "bar" })
    bar.style.background = colour
    bar.style.width = `${100 * share}%`
    return button
}

function showDevice(place) {
    device = t.devices[place]
    const gpu = device.number >= 0
    $("sentence").textContent = [...words.about, device.says].join(" ")
    const whose = gpu ? `GPU ${device.number}` : "the host"
    const time = gpu ? `Where the time of ${whose} went` : "Where the host's time went"
    $("where-title").textContent = onPath ? `Critical path of ${whose}` : time
    for (const list of ["parts", "look", "tops", "steps"]) $(list).replaceChildren()
    for (const [what, colour, took, share, places] of (onPath ? device.path : device).parts) {
        entry($("parts"), colour, what, timeText(took), share, () => visit(what, places))
    }
    const look = device.look.map((one, i) => `${i ? "Then" : "Look first"} at ${one}.`)
    for (const one of onPath ? [device.path.says] : look) put($("look"), "p", one)
    $("tops-title").textContent = gpu ? "Kernels by their time" : "Operators by their own time"
    for (const [name, times, took] of device.tops) {
        const said = `${count(times)} × ${name.replace(/^void /, "")}`
        entry($("tops"), "", said, timeText(took), null, () => {
            $("text").value = name
            search()
            showLongest(matches.filter(i => words.names[t.name[i]] === name))
        })
    }
    $("steps-title").hidden = !words.steps.length
    for (const [name, from, to] of words.steps) {
        const took = timeText((to - from))
        entry($("steps"), "", name, took, null, () => zoomTo(from, to))
    }
}

function showLongest(events) {
    if (!events.length) return
    const took = i => t.end[i] - t.start[i]
    choose(events.reduce((a, b) => took(b) > took(a) ? b : a))
    showResult()
}

// The longest of a part, and with each further visit the next longest.
function visit(what, places) {
    if (!places.length) return
    const turn = walked[what] = ((walked[what] ?? -1) + 1) % places.length
    const [kind, at, ...span] = places[turn]
    if (at < 0) mark(...span)
    else if (kind) choose(at)
    else chooseGap(device, at)
    showSpan(...(kind === 2 ? span : chosen.span), 0.6)
    const shown = kind ? at : chosen.next
    if (shown >= 0) showRow(shown)
    fact("of its kind", turn ? `number ${turn + 1} by length` : "the longest; click again for the next")
}

// Lays the lanes out anew, with the names beside them.
function showLanes() {
    layOut()
    redraw()
    $("heads").replaceChildren()
    for (const block of blocks) {
        const how = { title: block.name, ariaExpanded: !folded.has(block.number) }
        const head = put($("heads"), block.lane ? "button" : "div", block.name, how)
        head.className = block.height < 28 ? "low" : ""
        head.style.top = `${block.y}px`
        head.style.maxHeight = `${block.height + GAP / 2}px`
        if (!block.lane) continue
        head.onclick = () => {
            if (!folded.delete(block.number)) folded.add(block.number)
            showLanes()
            $("heads").children[blocks.findIndex(one => one.number === block.number)].focus()
        }
    }
}

function showLegend() {
    const there = new Set(t.kind)
    for (const [kind, name, [colour]] of words.kinds) {
        if (!there.has(kind)) continue
        const one = put($("legend"), "span")
        put(one, "span", "", { className: "mark" }).style.background = colour
        one.append(name)
    }
}
