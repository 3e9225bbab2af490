// The page's side of PeakIcicle: it lays out the nodes of `state`; zooming needs no kernel.
const LEVEL = 24

function render({ model, el }) {
  const ask = askerOf(model)
  const root = frame(model, el, "peak-icicle")
  const showTime = timeBar(root, model, ask)
  const reading = make("div", root, { class: "reading", role: "status" })
  const icicle = make("div", root, { class: "icicle" })
  let from = 0, width = 1, moment = model.get("state").moment

  function draw() {
    const state = model.get("state")
    if (state.moment !== moment) { from = 0; width = 1; moment = state.moment }
    showTime(state)
    reading.textContent = state.problem || "point at a function, or click it to zoom into it"
    const visible = state.nodes.filter((n) => n.left < from + width - 1e-9 && n.left + n.width > from + 1e-9)
    icicle.replaceChildren()
    icicle.style.height = `${LEVEL * (1 + Math.max(...visible.map((node) => node.depth)))}px`
    for (const node of visible) {
      const left = Math.max((node.left - from) / width, 0)
      const right = Math.min((node.left + node.width - from) / width, 1)
      const style = `left: ${left * 100}%; width: ${(right - left) * 100}%; top: ${node.depth * LEVEL}px; background: ${node.colour}`
      const button = make("button", icicle, { style, title: node.words, "aria-label": node.words },
                          `${node.name} · ${node.size}`)
      button.onpointerenter = button.onfocus = () => { reading.textContent = node.words }
      button.onclick = () => { from = node.left; width = node.width; draw(); reading.textContent = node.words }
    }
  }
  return keepDrawn(model, root, draw)
}

export default { render }
