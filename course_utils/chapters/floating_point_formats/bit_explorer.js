// The page's side of BitExplorer: it draws `state`, and sends what was clicked or typed as `action`.

function make(tag, parent, attributes = {}, text = "") {
  const made = document.createElement(tag)
  Object.entries(attributes).forEach(([name, value]) => made.setAttribute(name, value))
  made.textContent = text
  parent.append(made)
  return made
}

function render({ model, el }) {
  let count = 0
  const send = (what, value) => {
    model.set("action", { do: what, with: value, count: ++count })
    model.save_changes()
  }
  const root = make("div", el, { class: "bit-explorer" })
  const controls = make("div", root, { class: "controls" })
  const formatLabel = make("label", controls, {}, "format ")
  const format = make("select", formatLabel, { "aria-label": "format" })
  const box = make("input", controls, { type: "text", "aria-label": "a number", spellcheck: "false" })
  for (const [text, title, value] of [["−1", "previous value", -1], ["+1", "next value", 1]])
    make("button", controls, { title, "aria-label": title }, text).onclick = () => send("step", value)
  const bits = make("div", root, { class: "bits", role: "group", "aria-label": "bits" })
  const problem = make("p", root, { class: "problem", role: "alert" })
  const rows = make("table", root)

  box.onkeydown = (event) => { if (event.key === "Enter") send("type", box.value) }
  box.onchange = () => send("type", box.value)
  format.onchange = () => send("choose", format.value)
  // JupyterLab listens to keys as well: what is typed here stays here.
  root.addEventListener("keydown", (event) => event.stopPropagation())

  function drawBits(state) {
    const focused = [...bits.querySelectorAll("button")].indexOf(document.activeElement)
    bits.replaceChildren()
    let next = 0
    for (const [field, texts] of state.fields) {
      const group = make("span", bits, { class: "field", "data-field": field })
      for (const bit of texts) {
        const place = next++
        const label = `${field} bit ${place}: ${bit}`
        make("button", group, { "aria-label": label, title: field, "data-bit": place }, bit)
          .onclick = () => send("flip", place)
      }
    }
    bits.querySelectorAll("button")[focused]?.focus()
  }

  function draw() {
    const state = model.get("state")
    format.replaceChildren()
    state.formats.forEach((name) => make("option", format, { value: name }, name))
    format.value = state.format
    drawBits(state)
    problem.textContent = state.problem
    if (!state.problem && document.activeElement !== box) {
      const typed = state.rows.find(([label]) => label === "typed") ?? state.rows[0]
      box.value = typed[1]
    }
    rows.replaceChildren()
    for (const [label, text] of state.rows) {
      const row = make("tr", rows)
      make("th", row, { scope: "row" }, label)
      make("td", row, { "data-row": label }, text)
    }
  }
  model.on("change:state", draw)
  draw()
}

export default { render }
