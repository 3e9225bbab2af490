"""The chapters in JupyterLab, in a real browser: they run, and their widgets move."""

from urllib.parse import urlparse

import pytest

from course_utils.core import files
from tests.pages.conditions.lab import HOST, Lab, needs_browser

pytestmark = pytest.mark.timed


@needs_browser
def test_the_queue_of_chapter_2_moves_with_its_slider(lab: Lab):
    lab.open("02_async_execution.ipynb")
    lab.run("setup", "widget", "exercise-3")
    cell = lab.show("widget")
    reading, sliders = cell.locator(".widget-html"), cell.locator(".noUi-handle")
    cell.get_by_text("times faster").first.wait_for(timeout=60_000)
    before = reading.last.inner_text(), cell.locator("img").get_attribute("src")
    sliders.first.focus()
    lab.page.keyboard.press("ArrowRight")
    lab.page.wait_for_function(
        "([html, old]) => html.innerText !== old",
        arg=[reading.last.element_handle(), before[0]],
        timeout=30_000,
    )
    assert cell.locator("img").get_attribute("src") != before[1]
    (files.ROOT / "build").mkdir(exist_ok=True)
    lab.page.screenshot(path=files.ROOT / "build" / "chapter_02_in_jupyterlab.png")
    assert "Not tried yet" in lab.outputs("exercise-3")
    assert {urlparse(address).hostname for address in lab.requests} <= {HOST, None, ""}


@needs_browser
def test_chapter_6_runs_whole_and_its_bit_explorer_answers_clicks_and_keys(lab: Lab):
    lab.open("06_floating_point_formats.ipynb")
    lab.run_all()
    assert "Not tried yet" in lab.outputs("exercise-4")
    explorer = lab.show("explorer").locator(".bit-explorer")
    value, box = explorer.locator('[data-row="value"]'), explorer.get_by_label("a number")

    def shows(text: str) -> None:
        explorer.get_by_text(text, exact=True).first.wait_for(timeout=20_000)

    shows("0.0999755859375")
    explorer.locator('[data-bit="0"]').click()
    shows("-0.0999755859375")
    lab.page.keyboard.press("ArrowRight")
    lab.page.keyboard.press("Enter")  # the next bit, from the keyboard: 2^16 times as large
    shows("-6552")
    box.fill("1/3")
    box.press("Enter")
    shows("0.333251953125")
    explorer.get_by_label("format", exact=True).select_option("FP8 E5M2")
    shows("0.3125")
    explorer.get_by_label("next value").click()
    shows("0.375")
    box.fill("a third")
    box.press("Enter")
    explorer.get_by_role("alert").get_by_text("is no number").wait_for(timeout=20_000)
    assert value.inner_text() == "0.375"
    folder = files.ROOT / "build"
    for theme in ("JupyterLab Light", "JupyterLab Dark"):
        lab.page.evaluate(
            "theme => window.jupyterapp.commands.execute('apputils:change-theme', {theme})", theme
        )
        lab.page.wait_for_timeout(1500)
        explorer.screenshot(path=folder / f"bit_explorer_{theme[-5:].strip().lower()}.png")
    assert {urlparse(address).hostname for address in lab.requests} <= {HOST, None, ""}


@needs_browser
def test_the_bytes_of_chapter_7_move_with_batch_and_width(lab: Lab):
    lab.open("07_mixed_precision.ipynb")
    lab.run("setup", "widget")
    cell = lab.show("widget")
    cell.get_by_text("they cross near").first.wait_for(timeout=90_000)
    cell.get_by_text("AMP holds less").first.wait_for(timeout=20_000)
    before = cell.locator("img").get_attribute("src")
    cell.locator(".noUi-handle").nth(1).focus()
    lab.page.keyboard.press("ArrowRight")
    lab.page.keyboard.press("ArrowRight")
    cell.get_by_text("AMP holds more").first.wait_for(timeout=30_000)
    assert cell.locator("img").get_attribute("src") != before
    lab.page.screenshot(path=files.ROOT / "build" / "chapter_07_in_jupyterlab.png")
