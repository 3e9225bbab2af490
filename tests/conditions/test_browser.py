"""The chapters in JupyterLab, in a real browser: they run, and their widgets move."""

from urllib.parse import urlparse

from course_utils import files
from tests.conditions.lab import HOST, Lab, lab, needs_browser  # noqa: F401


@needs_browser
def test_chapter_2_runs_in_jupyterlab_and_its_widget_moves(lab: Lab):  # noqa: F811
    lab.open("02_async_execution.ipynb")
    lab.run_all()
    cell = lab.show("widget")
    reading, sliders = cell.locator(".widget-html"), cell.locator(".noUi-handle")
    before = reading.last.inner_text(), cell.locator("img").get_attribute("src")
    assert "times faster" in before[0]
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
    assert "✓" in lab.outputs("model-claims")
    assert "Not tried yet" in lab.outputs("exercise-3")
    assert {urlparse(address).hostname for address in lab.requests} <= {HOST, None, ""}
