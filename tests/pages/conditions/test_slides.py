"""Slides in a real browser: every one fits, the keys move, and nothing is asked of a network."""

import nbformat
import pytest

from course_utils.cli import slides
from course_utils.core import files
from tests.pages.conditions.lab import needs_browser

FITS = """() => {
    const body = document.querySelector('.slide.shown .body')
    return body.scrollHeight <= body.clientHeight && body.scrollWidth <= body.clientWidth
}"""
SIZES = """() => [...document.querySelectorAll('.slide.shown pre')].map(
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
def test_every_slide_fits_its_code_can_be_read_and_no_network_is_asked(sheet, tmp_path):
    page, asked = sheet, []
    page.set_viewport_size({"width": 1280, "height": 720})
    page.on("request", lambda request: asked.append(request.url))
    for path in (files.chapter_path("09"), hard_chapter(tmp_path)):
        made = slides.make(path, tmp_path)
        page.goto(made.as_uri())
        page.wait_for_selector("html[data-ready]", state="attached", timeout=60_000)
        count = int(page.get_attribute("html", "data-ready"))
        assert count > 5
        sizes = []
        for number in range(1, count + 1):
            assert page.evaluate(FITS), f"slide {number} of {path.stem} overflows"
            assert page.url.endswith(f"#{number}")
            sizes += page.evaluate(SIZES)
            page.keyboard.press("ArrowRight")
        assert min(sizes) >= 20
        page.keyboard.press("Home")
        assert page.url.endswith("#1")
        text = page.locator("#stage").inner_html()
        assert all(word in text for word in ("line_29", "<td>39</td>")) or path.stem[:2] == "09"
    assert page.wrong == []
    assert all(address.startswith(("file:", "data:")) for address in asked)
