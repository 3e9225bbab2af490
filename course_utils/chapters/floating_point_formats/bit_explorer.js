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
  const buttons = [["−1", "previous value", "step", -1], ["−½", "half an ulp down", "half", -1],
                   ["+½", "half an ulp up", "half", 1], ["+1", "next value", "step", 1]]
  for (const [text, title, what, value] of buttons)
    make("button", controls, { title, "aria-label": title }, text).onclick = () => send(what, value)
  const compareLabel = make("label", controls, {}, " beside ")
  const other = make("select", compareLabel, { "aria-label": "other format" })
  const bits = make("div", root, { class: "bits", role: "group", "aria-label": "bits" })
  const problem = make("p", root, { class: "problem", role: "alert" })
  const line = make("div", root, { class: "line", "aria-hidden": "true" })
  const rows = make("table", root)

  box.onkeydown = (event) => { if (event.key === "Enter") send("type", box.value) }
  box.onchange = () => send("type", box.value)
  format.onchange = () => send("choose", format.value)
  other.onchange = () => send("compare", other.value)
  // JupyterLab listens to keys as well: what is typed here stays here.
  root.addEventListener("keydown", (event) => event.stopPropagation())
  bits.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key]
    const place = [...bits.querySelectorAll("button")].indexOf(document.activeElement)
    if (step && place >= 0) bits.querySelectorAll("button")[place + step]?.focus()
  })

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
    for (const [select, chosen] of [[format, state.format], [other, state.other]]) {
      select.replaceChildren()
      state.formats.forEach((name) => make("option", select, { value: name }, name))
      select.value = chosen
    }
    drawBits(state)
    problem.textContent = state.problem
    if (!state.problem && document.activeElement !== box) {
      const typed = state.rows.find(([label]) => label === "typed") ?? state.rows[0]
      box.value = typed[1]
    }
    line.replaceChildren()
    for (const { at, kind, label } of state.line)
      make("span", line, { class: kind, style: `left: ${5 + 90 * at}%` }, label)
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
