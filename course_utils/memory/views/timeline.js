// The page's side of MemoryTimeline: it stacks the bands of `data`, and asks for parts of time.
const HEIGHT = 380, LEFT = 64, BOTTOM = 34, TOP = 26

function unpack(model) {
  const { rows, columns, groups } = model.get("state")
  const numbers = floats(model.get("data"))
  let at = 0
  const take = (count) => numbers.subarray(at, (at += count))
  return {
    rows, columns, groups,
    moments: take(columns), reserved: take(columns), live: take(columns),
    first: take(rows), last: take(rows), size: take(rows), group: take(rows), single: take(rows),
    small: take(groups.length * columns),
  }
}

function heightOf(bands, row, column) {
  if (!bands.single[row]) return bands.small[bands.group[row] * bands.columns + column]
  return column >= bands.first[row] && column < bands.last[row] ? bands.size[row] : 0
}

function render({ model, el }) {
  const ask = askerOf(model)
  const root = frame(model, el, "memory-timeline")
  const controls = make("div", root, { class: "controls" })
  const canvas = make("canvas", make("div", root), { role: "img", "aria-label": "live memory over time" })
  const legend = make("div", root, { class: "legend" })
  const reading = make("div", root, { class: "reading", role: "status" })
  const picked = make("div", root, { class: "picked", role: "status" })
  let bands = unpack(model), pointed = -1, pinned = false, drag = null, width = 800

  const edges = () => [model.get("state").low, model.get("state").high]
  const zoom = (factor, shift) => {
    const [low, high] = edges()
    const middle = (low + high) / 2 + shift * (high - low)
    const half = Math.max(((high - low) * factor) / 2, 1)
    ask("window", [middle - half, middle + half])
  }
  const aroundPeak = () => {
    const { peak, last } = model.get("state")
    ask("window", [peak - last / 20, peak + last / 20])
  }
  for (const [text, title, action] of [
    ["+", "zoom in", () => zoom(0.5, 0)], ["−", "zoom out", () => zoom(2, 0)],
    ["←", "earlier", () => zoom(1, -0.3)], ["→", "later", () => zoom(1, 0.3)],
    ["peak", "zoom to the peak", aroundPeak],
    ["all", "show all events", () => ask("window", [0, model.get("state").last])],
  ]) make("button", controls, { title, "aria-label": title }, text).onclick = action

  const columnAt = (x) => Math.floor(((x - LEFT) / (width - LEFT)) * bands.columns)
  const rowAt = (x, y) => {
    const column = columnAt(x)
    if (column < 0 || column >= bands.columns || y > HEIGHT - BOTTOM) return -1
    const bytes = ((HEIGHT - BOTTOM - y) / (HEIGHT - BOTTOM - TOP)) * model.get("state").top
    let below = 0
    for (let row = 0; row < bands.rows; row++) {
      below += heightOf(bands, row, column)
      if (bytes < below) return row
    }
    return -1
  }
  const pick = (row) => {
    if (row === pointed) return
    pointed = row
    ask("pick", row)
  }
  const momentAt = (x) => bands.moments[Math.min(Math.max(columnAt(x), 0), bands.columns - 1)]
  canvas.onpointerdown = (event) => { drag = event.offsetX; canvas.setPointerCapture(event.pointerId) }
  canvas.onpointermove = (event) => {
    if (drag !== null) draw(drag, event.offsetX)
    else if (!pinned) pick(rowAt(event.offsetX, event.offsetY))
  }
  canvas.onpointerup = (event) => {
    const [from, to] = [drag, event.offsetX]
    drag = null
    if (from !== null && Math.abs(to - from) > 6) ask("window", [momentAt(from), momentAt(to)])
    else {
      const row = rowAt(to, event.offsetY)
      pinned = row >= 0 && !(pinned && row === pointed)
      pick(row)
    }
    draw()
  }
  canvas.onpointerleave = () => { if (!pinned && drag === null) pick(-1) }

  function draw(from = null, to = null) {
    const state = model.get("state")
    const [context, wide] = prepared(canvas, HEIGHT)
    width = wide
    const ink = context.fillStyle
    const x = (column) => LEFT + (column / bands.columns) * (width - LEFT)
    const y = (bytes) => HEIGHT - BOTTOM - (bytes / state.top) * (HEIGHT - BOTTOM - TOP)
    drawBands(context, x, y)
    context.strokeStyle = context.fillStyle = ink
    context.lineWidth = 1.4
    context.beginPath()
    bands.reserved.forEach((bytes, column) => {
      context.lineTo(x(column), y(bytes))
      context.lineTo(x(column + 1), y(bytes))
    })
    context.stroke()
    drawAxes(context, state, x, y)
    drawPeak(context, state, x, y)
    if (from !== null) {
      context.globalAlpha = 0.2
      context.fillRect(from, TOP, to - from, HEIGHT - BOTTOM - TOP)
      context.globalAlpha = 1
    }
    const seen = (group) => bands.group.some((of, row) => of === group && bands.single[row]) ||
      bands.small.subarray(group * bands.columns, (group + 1) * bands.columns).some(Boolean)
    drawLegend(legend, [...state.groups.filter(([name], group) => name && seen(group)),
                        ["line: reserved from the driver", "currentColor"]])
    const [low, high] = edges()
    reading.textContent = `events ${low.toLocaleString("en")} to ${high.toLocaleString("en")}; ${state.peak_text}. ${state.start}`
    drawPicked(picked, state)
  }

  // An area for each group, then a line around each band that is high enough to be told apart.
  function drawBands(context, x, y) {
    const below = new Float64Array(bands.columns), seen = []
    let foot = below.slice()
    for (let row = 0; row < bands.rows; row++) {
      const from = bands.single[row] ? bands.first[row] : 0
      const to = bands.single[row] ? bands.last[row] : bands.columns
      const high = bands.single[row] && bands.size[row] > 0.01 * model.get("state").top
      const low = high || row === pointed ? below.slice(from, to) : null
      for (let column = from; column < to; column++) below[column] += heightOf(bands, row, column)
      if (low) seen.push([row, from, low, below.slice(from, to)])
      if (bands.group[row + 1] === bands.group[row]) continue
      trace(context, 0, foot, below, x, y)
      context.fillStyle = bands.groups[bands.group[row]][1]
      context.fill()
      foot = below.slice()
    }
    for (const [row, from, low, high] of seen) {
      trace(context, from, low, high, x, y)
      context.strokeStyle = row === pointed ? "#000" : "#fff"
      context.lineWidth = row === pointed ? 2 : 0.4
      context.stroke()
    }
  }

  // The way around an area with steps that begins in a column: its top, then its bottom backwards.
  function trace(context, from, low, high, x, y) {
    context.beginPath()
    for (let at = 0; at < high.length; at++) {
      if (high[at] !== high[at - 1]) context.lineTo(x(from + at), y(high[at]))
      if (high[at] !== high[at + 1]) context.lineTo(x(from + at + 1), y(high[at]))
    }
    for (let at = low.length - 1; at >= 0; at--) {
      if (low[at] !== low[at + 1]) context.lineTo(x(from + at + 1), y(low[at]))
      if (low[at] !== low[at - 1]) context.lineTo(x(from + at), y(low[at]))
    }
    context.closePath()
  }

  function drawAxes(context, state, x, y) {
    context.textAlign = "right"
    const most = state.top / state.scale
    const step = [1, 2, 5].map((n) => n * 10 ** Math.floor(Math.log10(most / 2))).findLast((s) => most / s >= 3) ?? most / 4
    for (let value = 0; value <= most; value += step)
      context.fillText(`${+value.toPrecision(6)} ${state.unit}`, LEFT - 6, y(value * state.scale) + 4)
    context.textAlign = "center"
    for (let part = 0; part <= 4; part++) {
      const moment = Math.round(state.low + (part / 4) * (state.high - state.low))
      const at = Math.min(Math.max(x((part / 4) * bands.columns), LEFT + 24), width - 30)
      context.fillText(moment.toLocaleString("en"), at, HEIGHT - 14)
    }
  }

  function drawPeak(context, state, x, y) {
    const column = bands.moments.indexOf(state.peak)
    if (column < 0) return
    const [at, height] = [x(column + 0.5), y(bands.live[column])]
    context.beginPath()
    context.moveTo(at, height)
    context.lineTo(at - 6, height - 9)
    context.lineTo(at + 6, height - 9)
    context.fill()
    context.textAlign = at > width / 2 ? "right" : "left"
    context.font = "bold 12px sans-serif"
    context.fillText("peak", at + (at > width / 2 ? -9 : 9), height - 4)
  }

  model.on("change:data", () => { bands = unpack(model) })
  model.on("change:state", () => { bands = unpack(model) })
  return keepDrawn(model, root, () => draw())
}

export default { render }
