// The page's side of SegmentsMap: it paints the cells of `data`, and asks for moments and places.
const ROW = 13, GAP = 2

function render({ model, el }) {
  const ask = askerOf(model)
  const root = frame(model, el, "segments-map")
  const showTime = timeBar(root, model, ask)
  const reading = make("div", root, { class: "reading", role: "status" })
  const canvas = make("canvas", make("div", root), { role: "img", "aria-label": "map of all segments" })
  const legend = make("div", root, { class: "legend" })
  const picked = make("div", root, { class: "picked", role: "status" })
  const paper = document.createElement("canvas")
  let width = 800, looked = -1

  canvas.onpointermove = (event) => {
    const { rows, cells } = model.get("state")
    const row = Math.floor(event.offsetY / (ROW + GAP))
    const column = Math.floor((event.offsetX / width) * cells)
    const inside = row >= 0 && row < rows && column >= 0 && column < cells
    const cell = inside ? row * cells + column : -1
    if (cell !== looked) ask("look", (looked = cell))
  }
  canvas.onclick = canvas.onpointermove

  function draw() {
    const state = model.get("state"), data = model.get("data")
    const { rows, cells } = state
    const [context, wide] = prepared(canvas, rows * (ROW + GAP))
    width = wide
    paper.width = cells
    paper.height = rows
    const colours = new Uint8ClampedArray(data.buffer.slice(data.byteOffset, data.byteOffset + rows * cells * 4))
    paper.getContext("2d").putImageData(new ImageData(colours, cells, rows), 0, 0)
    context.imageSmoothingEnabled = false
    for (let row = 0; row < rows; row++)
      context.drawImage(paper, 0, row, cells, 1, 0, row * (ROW + GAP), width, ROW)
    for (const place of floats(data, rows * cells * 4)) {
      const row = Math.floor(place / cells)
      context.fillRect(((place - row * cells) / cells) * width, row * (ROW + GAP), 1, ROW)
    }
    showTime(state)
    reading.textContent = `${state.reading}; ${state.row_text}; a line where a segment begins`
    drawLegend(legend, state.kinds.map(([name, colour, size]) => [`${name}: ${size}`, colour]))
    drawPicked(picked, state)
  }
  return keepDrawn(model, root, draw)
}

export default { render }
