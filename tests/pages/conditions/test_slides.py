"""Slides in a real browser: all of each can be seen, and nothing comes from a network."""

import nbformat
import pytest

from course_utils.cli import slides
from course_utils.core import files
from tests.pages.conditions.lab import needs_browser

OVERFLOW = """() => {
    const slide = Reveal.getCurrentSlide()
    return [slide.scrollWidth - slide.clientWidth,
            slide.scrollHeight - slide.clientHeight - slide.scrollTop]
}"""
SIZES = """() => [...Reveal.getCurrentSlide().querySelectorAll('pre')].map(
    block => parseFloat(getComputedStyle(block).fontSize))"""


def hard_chapter(folder):
    """What fits no slide as it stands: a long cell, a long table, a long line, a wall of text."""
    rows = "\n".join(f"| {i} | {'word ' * 12} |" for i in range(40))
    cells = [
        nbformat.v4.new_markdown_cell("# 99 · Too much\n\n" + "A wall of words. " * 120),
        nbformat.v4.new_markdown_cell(
            "## 1. Why?\n\nA question. **Predict** it.\n\n| n | w |\n|---|---|\n" + rows
        ),
        nbformat.v4.new_code_cell(
            "\n".join(f"line_{i} = '{'x' * (40 + 5 * i)}'" for i in range(30)),
            outputs=[nbformat.v4.new_output("stream", text="said\n" * 60)],
        ),
        nbformat.v4.new_markdown_cell(
            "[a link](https://example.org/page) and ![a picture](https://example.org/a.png)"
        ),
    ]
    path = folder / "99_too_much.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    return path


@needs_browser
@pytest.mark.thorough("course_utils/cli/slides", "course_utils/figures", "notebooks/09")
def test_forward_shows_all_of_each_slide_large_enough_and_without_a_network(sheet, tmp_path):
    page, loaded, refused = sheet, [], []
    page.set_viewport_size({"width": 1280, "height": 720})
    page.on("requestfinished", lambda request: loaded.append(request.url))
    page.on("requestfailed", lambda request: refused.append((request.url, request.failure)))
    for path in (files.chapter_path("09"), hard_chapter(tmp_path)):
        made = slides.make(path, tmp_path)
        page.goto(made.as_uri())
        page.wait_for_selector(".reveal.ready")
        count, sizes = page.evaluate("Reveal.getTotalSlides()"), []
        assert count > 5
        for number in range(1, count + 1):
            assert page.evaluate("Reveal.getIndices().h") == number - 1
            sizes += page.evaluate(SIZES)
            while page.evaluate(OVERFLOW)[1] >= 1:
                page.keyboard.press("ArrowRight")
            assert page.evaluate(OVERFLOW)[0] <= 0, f"slide {number} of {path.stem} is too wide"
            page.keyboard.press("ArrowRight")
        assert min(sizes) >= 20
        page.wait_for_url(f"**#/{count}")  # a link to the last slide
        page.keyboard.press("Home")
        assert page.evaluate("Reveal.isFirstSlide()")
        text = page.locator(".slides").inner_html()
        assert all(word in text for word in ("line_29", "<td>39</td>")) or path.stem[:2] == "09"
    assert refused == [("https://example.org/a.png", "csp")], "by the page's own rule"
    assert all(address.startswith(("file:", "data:")) for address in loaded)
    assert all("Content Security Policy" in wrong for wrong in page.wrong)
