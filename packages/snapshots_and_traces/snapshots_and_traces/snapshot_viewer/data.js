// Makes a device ready to be drawn, and says bytes.

const UNITS = [[2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]]
const exact = bytes => `${count(bytes)} B`

function sizeText(bytes) {
    const [unit, name] = UNITS.find(([one]) => bytes >= one) ?? [1, "B"]
    const digits = unit === 1 ? 0 : bytes < 10 * unit ? 2 : 1
    const how = { minimumFractionDigits: digits, maximumFractionDigits: digits }
    return `${(bytes / unit).toLocaleString("en", how)} ${name}`
}

function curve(last, births, deaths, sizes) {
    const change = new Float64Array(last + 1)
    for (let i = 0; i < births.length; i++) {
        if (births[i] <= last) change[births[i]] += sizes[i]
        if (deaths[i] <= last) change[deaths[i]] -= sizes[i]
    }
    return running(change)
}

// A device with its columns by name. Columns of allocations have a place for each; by moment are
// `live` and `reserved`, and the bytes that come and go with an event, each with their group.
function opened(device) {
    const c = { ...device, ...columns(device.columns), last: device.events }
    for (const name of ["address", "bytes", "who"]) c[name] = new Float64Array(c.event.length)
    for (const name of ["come", "go"]) c[name] = new Float64Array(c.last + 1)
    for (const name of ["comeGroup", "goGroup"]) c[name] = new Uint8Array(c.last + 1)
    c.group = Uint8Array.from(c.site, site => device.siteGroups[site])
    for (let i = 0, early = 0; i < c.event.length; i++) {
        const at = c.event[i] - 1, known = at >= 0, end = c.death[i]
        c.address[i] = known ? c.addr[at] : c.earlyAddress[early]
        c.bytes[i] = known ? c.size[at] : c.earlySize[early]
        c.who[i] = known ? c.stack[at] : c.earlyStack[early++]
        if (known) c.come[at + 1] = c.bytes[i], c.comeGroup[at + 1] = c.group[i]
        if (end <= c.last) c.go[end] = c.bytes[i], c.goGroup[end] = c.group[i]
    }
    c.clock = running(Float64Array.from(c.passed))
    c.live = curve(c.last, c.event, c.death, c.bytes)
    c.reserved = curve(c.last, c.rangeBirth, c.rangeDeath, c.rangeSize)
    return c
}

// The places of those that live at a moment.
function alive(births, deaths, moment) {
    const found = []
    births.forEach((birth, i) => { if (birth <= moment && deaths[i] > moment) found.push(i) })
    return found
}

// The segments that there are at a moment, with their blocks; pages side by side are one.
function segments(d, here, moment) {
    const order = alive(d.rangeBirth, d.rangeDeath, moment), found = []
    for (const i of order.sort((a, b) => d.rangeAddress[a] - d.rangeAddress[b])) {
        const start = d.rangeAddress[i], end = start + d.rangeSize[i], kind = d.rangeKind[i]
        const page = i >= d.firstPage, before = found.at(-1)
        if (page && before?.page && before.end === start && before.kind === kind) before.end = end
        else found.push({ start, end, kind, page, blocks: [], free: 0 })
    }
    let place = 0
    for (const i of here.sort((a, b) => d.address[a] - d.address[b])) {
        while (place + 1 < found.length && found[place + 1].start <= d.address[i]) place++
        if (d.address[i] < found[place]?.end) found[place].blocks.push(i)
    }
    for (const segment of found) {
        let at = segment.start
        const gap = to => { segment.free = Math.max(segment.free, to - at) }
        for (const i of segment.blocks) {
            gap(d.address[i])
            at = d.address[i] + d.bytes[i] + d.slack[i]
        }
        gap(segment.end)
    }
    return found.sort((a, b) => a.kind - b.kind || b.end - b.start - (a.end - a.start))
}
