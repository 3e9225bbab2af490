// Lays the pieces of a chapter out on slides by measuring them, then answers the keys.
const stage = document.getElementById("stage")
const WORDS_A_SLIDE = 70
const SMALLEST = { pre: 20, words: 24, table: 20 }
const LARGER = 7
const slides = []
let heading = ""
let current = null

function element(name, parent, text = "") {
  const made = document.createElement(name)
  made.textContent = text
  return parent.appendChild(made)
}

function newSlide(kind = "") {
  if (current && !current.body.children.length) current.slide.remove(), slides.pop()
  current?.slide.classList.remove("shown")
  const slide = element("section", stage)
  slide.className = `slide shown ${kind}`
  element("header", slide, kind === "opens" ? "" : heading)
  const body = element("div", slide)
  body.className = "body"
  current = { slide, body }
  slides.push(current)
}

const tooLarge = () =>
  current.body.scrollHeight > current.body.clientHeight || current.body.scrollWidth > current.body.clientWidth
const words = node => node.textContent.trim().split(/\s+/).length
const isTask = node => /^(Predict|Find|Count|Try)\b/.test(node.querySelector("strong")?.textContent ?? "") &&
  node.textContent.trim().startsWith(node.querySelector("strong").textContent)

// The parts of a block that may go on the next slide: lines, rows, points.
function parts(block) {
  if (block.matches("pre")) return block
  return block.querySelector("tbody") ?? (block.matches("ul, ol") ? block : null)
}

function place(block) {
  current.body.append(block)
  if (!tooLarge()) return
  if (current.body.children.length > 1) {
    block.remove()
    newSlide()
    current.body.append(block)
  }
  if (tooLarge()) goOn(block) || shrink(block)
}

// A paragraph goes on with the words that no longer fit.
function goOnInWords(block) {
  const rest = block.cloneNode(false)
  while (tooLarge() && block.lastChild) {
    const last = block.lastChild
    const cut = last.nodeType === Node.TEXT_NODE ? last.data.trimEnd().lastIndexOf(" ") : 0
    rest.prepend(cut > 0 ? last.splitText(cut) : last)
  }
  newSlide()
  place(rest)
  return true
}

function goOn(block) {
  if (block.matches("p")) return goOnInWords(block)
  const from = parts(block)
  if (!from || from.children.length < 2) return false
  const rest = block.cloneNode(true)
  const to = parts(rest)
  let kept = from.children.length
  while (tooLarge() && kept > 1) from.children[--kept].remove()
  if (tooLarge()) shrink(block)
  for (let i = 0; i < kept; i++) to.children[0].remove()
  if (!to.children.length) return true
  newSlide()
  place(rest)
  return true
}

function shrink(block) {
  const kind = block.matches("pre") ? "pre" : block.querySelector("table") || block.matches("table") ? "table" : "words"
  const target = block.querySelector("table") ?? block
  let size = parseFloat(getComputedStyle(target).fontSize)
  while (tooLarge() && size > SMALLEST[kind]) target.style.fontSize = `${--size}px`
}

// Code and tables as large as the slide allows: most of a class sits far away.
function grow() {
  for (const { slide, body } of slides) {
    current = { slide, body }
    slide.classList.add("shown")
    const small = [...body.querySelectorAll("pre, table")].filter(block => !block.style.fontSize)
    const sizes = small.map(block => parseFloat(getComputedStyle(block).fontSize))
    const set = more => small.forEach((block, i) => { block.style.fontSize = `${sizes[i] + more}px` })
    let more = LARGER
    for (set(more); tooLarge() && more > 0; set(--more));
    slide.classList.remove("shown")
  }
}

function layWords(cell) {
  let fresh = true
  for (const block of [...cell.children]) {
    if (block.matches("h1, h2")) {
      heading = block.textContent
      newSlide("opens")
      current.body.append(block)
      fresh = false
    } else if (isTask(block)) {
      newSlide("task")
      current.body.append(block)
      if (tooLarge()) shrink(block)
      fresh = true
    } else {
      const full = current && words(current.body) + words(block) > WORDS_A_SLIDE
      if (fresh || full || block.matches("pre, table, h3")) newSlide()
      place(block)
      fresh = false
    }
  }
}

function layCell(cell) {
  newSlide()
  for (const block of [...cell.children]) {
    if (block.matches("img")) {
      newSlide("picture")
      current.body.append(block)
      newSlide()
    } else place(block)
  }
}

function show(number) {
  const place = Math.max(0, Math.min(slides.length - 1, number))
  slides.forEach(({ slide }, index) => slide.classList.toggle("shown", index === place))
  history.replaceState(null, "", `#${place + 1}`)
  return place
}

function fit() {
  const scale = Math.min(innerWidth / 1280, innerHeight / 720)
  const left = (innerWidth - 1280 * scale) / 2
  const top = (innerHeight - 720 * scale) / 2
  stage.style.transform = `translate(${left}px, ${top}px) scale(${scale})`
}

async function begin() {
  const source = document.getElementById("source")
  await Promise.all([...source.querySelectorAll("img")].map(image => image.decode().catch(() => {})))
  for (const cell of [...source.children]) cell.matches(".words") ? layWords(cell) : layCell(cell)
  newSlide() // an empty last slide goes
  current.slide.remove()
  slides.pop()
  grow()
  slides.forEach(({ slide }, index) => {
    const foot = element("footer", slide)
    element("span", foot, document.title)
    element("span", foot, `${index + 1} / ${slides.length}`)
  })
  let at = show(parseInt(location.hash.slice(1) || "1") - 1)
  const forward = ["ArrowRight", "ArrowDown", "PageDown", " "]
  const back = ["ArrowLeft", "ArrowUp", "PageUp"]
  addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    if (forward.includes(event.key)) at = show(at + 1)
    else if (back.includes(event.key)) at = show(at - 1)
    else if (event.key === "Home") at = show(0)
    else if (event.key === "End") at = show(slides.length - 1)
    else if (event.key === "f") document.documentElement.requestFullscreen()
    else return
    event.preventDefault()
  })
  addEventListener("hashchange", () => { at = show(parseInt(location.hash.slice(1)) - 1) })
  addEventListener("resize", fit)
  fit()
  document.documentElement.dataset.ready = slides.length
}
begin()
