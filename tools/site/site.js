// Names that a screen reader says must be those that stand on the page.
addEventListener("DOMContentLoaded", () => {
  const all = (what, change) => document.querySelectorAll(what).forEach(change)
  all(".search-button-field, details.hide > summary", one => one.removeAttribute("aria-label"))
  all(".bd-links summary", one => one.setAttribute("aria-label", "Its pages"))
})
