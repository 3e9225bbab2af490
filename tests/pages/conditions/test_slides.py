"""Slides in a real browser: all of each can be seen and read, and nothing comes from a network."""

import re

import nbformat
import pytest

from course_utils.cli import slides
from course_utils.core import files
from tests.pages.conditions.lab import needs_browser

SIZES = """() => Reveal.getSlides().map((slide, n) => {
    Reveal.slide(n)
    const smallest = selector => Math.min(99, ...[...slide.querySelectorAll(selector)]
        .filter(one => !one.closest('.notes'))
        .map(one => parseFloat(getComputedStyle(one).fontSize)))
    const over = [slide.scrollWidth - slide.clientWidth, slide.scrollHeight - slide.clientHeight]
    return [Math.max(...over), smallest('p, li'), smallest('pre, td, th')]
})"""


def hard_chapter(folder):
    """What fits no slide as it stands: a long cell, a long table, a long line, a wall of text."""
    rows = "\n".join(f"| {i} | {'word ' * 12} |" for i in range(40))
    table = "".join(f"<tr><td>{i}</td><td>{'word ' * 12}</td></tr>" for i in range(40))
    lines = "\n".join(f"line_{i} = '{'x' * (40 + 5 * i)}'" for i in range(30))
    many = [nbformat.v4.new_output("stream", text="said\n" * 60)]
    wide = [nbformat.v4.new_output("display_data", {"text/html": f"<table>{table}</table>"})]
    claims = [nbformat.v4.new_output("stream", text="✓ so it is, as was said\n" * 9)]
    cells = [
        nbformat.v4.new_markdown_cell("# 99 · Too much\n\n" + "A wall of words. " * 120),
        nbformat.v4.new_markdown_cell(f"## 1. Why?\n\n{'And so on, ' * 90}\n\n{rows}"),
        nbformat.v4.new_markdown_cell("**Predict.** " + "How many? " * 80 + f"\n\n{rows}"),
        nbformat.v4.new_code_cell(lines, outputs=many, metadata={"tags": ["slide"]}),
        nbformat.v4.new_code_cell("shown = 1", outputs=wide),
        nbformat.v4.new_code_cell("claim('it')", outputs=claims),
        nbformat.v4.new_markdown_cell(
            "## 2. [a link](https://example.org/page)\n\n![picture](https://example.org/a.png)"
        ),
    ]
    path = folder / "99_too_much.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    return path


@needs_browser
@pytest.mark.thorough("course_utils/cli/slides")
def test_each_slide_shows_all_it_has_large_enough_and_without_a_network(sheet, tmp_path):
    page, loaded, refused = sheet, [], []
    page.set_viewport_size({"width": 1280, "height": 720})
    page.on("requestfinished", lambda request: loaded.append(request.url))
    page.on("requestfailed", lambda request: refused.append((request.url, request.failure)))
    for path in (*files.chapters(), hard_chapter(tmp_path)):
        page.goto(slides.make(path, tmp_path).as_uri())
        page.wait_for_selector(".reveal.ready")
        sizes = page.evaluate(SIZES)
        for number, (over, text, small) in enumerate(sizes, 1):
            assert over <= 0 and text >= 28 and small >= 21, f"slide {number} of {path.stem}"
        page.wait_for_url(f"**#/{len(sizes)}")  # a link to the last slide
        page.keyboard.press("Home")
        page.keyboard.press("ArrowRight")
        assert page.evaluate("Reveal.getIndices().h") == 1
    assert refused == [("https://example.org/a.png", "csp")], "by the page's own rule"
    assert all(address.startswith(("file:", "data:")) for address in loaded)
    assert all("Content Security Policy" in wrong for wrong in page.wrong)


@needs_browser
def test_s_opens_the_speakers_notes_which_follow_the_slides(sheet, tmp_path):
    path = files.chapter_path("02")
    sheet.goto(slides.make(path, tmp_path).as_uri() + "#/4")
    sheet.wait_for_selector(".reveal.ready")
    with sheet.expect_popup() as opened:
        sheet.keyboard.press("s")
    notes = opened.value
    assert "How do you time a GPU?: 5 minutes, from minute 2" in notes.inner_text("body")
    assert re.search(r"Slide 4 of \d+", notes.inner_text("body"))
    sheet.keyboard.press("ArrowRight")
    assert re.search(r"Slide 5 of \d+", notes.inner_text("body")) and not sheet.wrong
