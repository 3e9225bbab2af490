// Shrinks what doesn't fit a slide, as far as the back row can read it; the rest scrolls.
const SMALLEST = 24 // px; code is 0.84 of it

function fit({ currentSlide: slide }) {
  let size = parseFloat(getComputedStyle(slide).fontSize)
  while (slide.scrollHeight > slide.clientHeight && size > SMALLEST) slide.style.fontSize = `${--size}px`
}

// Forward, as a clicker sends it, shows the rest of a long slide before the next slide.
function forward() {
  const slide = Reveal.getCurrentSlide()
  const below = slide.scrollHeight - slide.clientHeight - slide.scrollTop
  if (below >= 1) slide.scrollTop += 0.8 * slide.clientHeight
  else Reveal.next()
}

Reveal.on("ready", fit)
Reveal.on("slidechanged", fit)
const [SPACE, PAGE_DOWN, RIGHT, DOWN] = [32, 34, 39, 40]
Reveal.initialize({
  width: 1280, height: 720, margin: 0, center: false, hash: true, hashOneBasedIndex: true,
  controls: false, transition: "none", slideNumber: "c/t",
  keyboard: { [SPACE]: forward, [PAGE_DOWN]: forward, [RIGHT]: forward, [DOWN]: forward },
})
