// Shrinks tables and printed text that don't fit a slide, as far as the back row can read them.
const SMALLEST = 22 // px

function fit({ currentSlide: slide }) {
  let size = 28
  const isOver = () => slide.scrollHeight > slide.clientHeight || slide.scrollWidth > slide.clientWidth
  while (isOver() && size > SMALLEST) slide.style.setProperty("--small", `${--size}px`)
  tell(slide)
}

// `s` opens a window for the speaker: minutes of the section, notes, and the slide that comes next.
let speaker = null
const began = Date.now()

function speak() {
  speaker = window.open("", "speaker", "width=900,height=700")
  tell(Reveal.getCurrentSlide())
}

function tell(slide) {
  if (!speaker || speaker.closed) return
  const next = slide.nextElementSibling?.querySelector("h1, h2, p, caption, img, pre")
  const add = (tag, text) => speaker.document.body.append(Object.assign(speaker.document.createElement(tag), { textContent: text }))
  speaker.document.title = "Notes"
  speaker.document.body.replaceChildren()
  speaker.document.body.style.cssText = "font: 22px/1.4 system-ui, sans-serif; margin: 24px"
  add("h3", slide.dataset.timing)
  add("p", `Slide ${Reveal.getIndices().h + 1} of ${Reveal.getTotalSlides()}, ${Math.floor((Date.now() - began) / 60000)} minutes since the start`)
  for (const note of slide.querySelectorAll(".notes p")) add("p", note.textContent)
  add("h3", `Next: ${(next?.textContent || next?.alt || "the end").split("\n")[0]}`)
}

Reveal.on("ready", fit)
Reveal.on("slidechanged", fit)
const S = 83
Reveal.initialize({
  width: 1280, height: 720, margin: 0, center: false, display: "flex", hash: true, hashOneBasedIndex: true,
  controls: false, transition: "none", slideNumber: "c/t",
  keyboard: { [S]: speak },
})
