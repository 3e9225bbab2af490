// The page's side of AllocationTable: rows of `state`, one of them open.
function render({ model, el }) {
  const ask = askerOf(model)
  const root = frame(model, el, "allocation-table")
  const controls = make("div", root, { class: "controls" })
  const which = make("select", make("label", controls, {}, "show the "), { "aria-label": "which" })
  const count = make("select", make("label", controls, {}, "how many "), { "aria-label": "how many" })
  const picked = make("div", root, { class: "picked", role: "status" })
  const table = make("table", root)
  which.onchange = () => ask("list", which.value)
  count.onchange = () => ask("count", Number(count.value))

  function draw() {
    const state = model.get("state")
    for (const [select, values, chosen] of [[which, state.kinds, state.which], [count, state.counts, state.count]]) {
      select.replaceChildren()
      values.forEach((value) => make("option", select, { value }, value))
      select.value = chosen
    }
    drawPicked(picked, state)
    const focused = [...table.querySelectorAll("button")].indexOf(document.activeElement)
    table.replaceChildren()
    const head = make("tr", table)
    for (const title of ["size", "lives", "who asked"]) make("th", head, { scope: "col" }, title)
    state.rows.forEach((row, place) => {
      const line = make("tr", table)
      const open = make("button", make("td", line), { title: "its call stack" }, row.size)
      open.onclick = () => ask("pick", place)
      make("td", line, {}, row.lives)
      make("td", line, {}, row["who asked"])
    })
    table.querySelectorAll("button")[focused]?.focus()
  }
  return keepDrawn(model, root, draw)
}

export default { render }
