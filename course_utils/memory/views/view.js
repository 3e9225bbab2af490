// What the memory views share: elements, one request at a time, the theme, a slider through time.
function make(tag, parent, attributes = {}, text = "") {
  const made = document.createElement(tag)
  Object.entries(attributes).forEach(([name, value]) => made.setAttribute(name, value))
  made.textContent = text
  parent.append(made)
  return made
}

const askers = new WeakMap()

// Sends a request when the one before is answered; of those that wait, the newest of each kind.
function askerOf(model) {
  if (askers.has(model)) return askers.get(model)
  let count = model.get("state").answered
  let answered = count
  const waiting = new Map()
  const next = () => {
    if (answered < count || !waiting.size) return
    const [what, value] = waiting.entries().next().value
    waiting.delete(what)
    model.set("action", { do: what, with: value, count: ++count })
    model.save_changes()
  }
  model.on("change:state", () => { answered = model.get("state").answered; next() })
  const ask = (what, value) => { waiting.set(what, value); next() }
  askers.set(model, ask)
  return ask
}

// An element for a view's own root, and `redraw` called for every new state, width and theme.
function frame(model, el, name) {
  const root = make("div", el, { class: `memory-view ${name}` })
  // JupyterLab listens to keys as well: what is typed here stays here.
  root.addEventListener("keydown", (event) => event.stopPropagation())
  return root
}

function keepDrawn(model, root, draw) {
  const later = () => requestAnimationFrame(draw)
  model.on("change:state", later)
  const size = new ResizeObserver(later)
  size.observe(root)
  const theme = new MutationObserver(later)
  theme.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-name"] })
  draw()
  return () => { model.off("change:state", later); size.disconnect(); theme.disconnect() }
}

// A canvas as wide as its place, sharp on every screen; gives its context, width and height.
function prepared(canvas, height) {
  const ratio = window.devicePixelRatio || 1
  const width = Math.max(canvas.parentElement.clientWidth, 200)
  canvas.width = Math.round(width * ratio)
  canvas.height = Math.round(height * ratio)
  canvas.style.width = `${width}px`
  canvas.style.height = `${height}px`
  const context = canvas.getContext("2d")
  context.setTransform(ratio, 0, 0, ratio, 0, 0)
  context.clearRect(0, 0, width, height)
  context.font = "12px sans-serif"
  context.fillStyle = context.strokeStyle = getComputedStyle(canvas).color
  return [context, width]
}

function drawPicked(place, state) {
  const lines = state.problem ? [state.problem] : state.picked
  place.replaceChildren()
  lines.forEach((line, at) => make("div", place, { class: at ? "line" : "first" }, line))
}

function drawLegend(place, entries) {
  place.replaceChildren()
  for (const [name, colour] of entries) {
    const entry = make("span", place)
    make("i", entry, { style: `background: ${colour}` })
    entry.append(name)
  }
}

// A slider over all moments, with buttons for the beginning, the peak and the end.
function timeBar(parent, model, ask) {
  const bar = make("div", parent, { class: "controls" })
  const slider = make("input", bar, { type: "range", min: 0, step: 1, "aria-label": "moment" })
  const go = (moment) => { slider.value = moment; ask("go", Number(moment)) }
  slider.oninput = () => ask("go", Number(slider.value))
  make("button", bar, {}, "beginning").onclick = () => go(0)
  make("button", bar, {}, "peak").onclick = () => go(model.get("state").peak)
  make("button", bar, {}, "end").onclick = () => go(model.get("state").last)
  const event = make("span", bar, { class: "event" })
  return (state) => {
    slider.max = state.last
    if (document.activeElement !== slider) slider.value = state.moment
    slider.setAttribute("aria-valuetext", state.event)
    event.textContent = state.event
  }
}

function floats(view, start = 0) {
  return new Float32Array(view.buffer.slice(view.byteOffset + start, view.byteOffset + view.byteLength))
}
