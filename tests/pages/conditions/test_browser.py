"""Chapters in JupyterLab, in a real browser: widgets, predictions and ranks answer a reader."""

from urllib.parse import urlparse

import pytest

from snapshots_and_traces.tests.support.trace_pages import write_notebook
from tests.pages.conditions.lab import HOST, IDLE, RUN_ALL, TEXT_OF, Lab, needs_browser
from tests.support.page_cells import cells_of

pytestmark = needs_browser
CHANGED = "([image, old]) => image.src !== old"


@pytest.mark.thorough("course_utils/figures", "notebooks/02")
def test_the_queue_of_chapter_2_moves_with_its_slider_and_asks_no_network(lab: Lab):
    lab.open("02_async_execution.ipynb")
    lab.run("setup", "widget", "exercise-2")
    cell = lab.show("widget")
    cell.get_by_text("times faster").first.wait_for(timeout=60_000)
    image, reading = cell.locator("img").element_handle(), cell.locator(".widget-html").last
    before = image.get_attribute("src"), reading.inner_text()
    cell.locator(".noUi-handle").first.focus()
    lab.page.keyboard.press("ArrowRight")
    lab.page.wait_for_function(CHANGED, arg=[image, before[0]], timeout=30_000)
    assert reading.inner_text() != before[1]
    assert "Not tried yet" in lab.outputs("exercise-2")
    assert {urlparse(address).hostname for address in lab.requests} <= {HOST, None, ""}


@pytest.mark.thorough("notebooks/06", "course_utils/chapters/floating_point_formats")
def test_the_bit_explorer_of_chapter_6_answers_clicks_and_keys(lab: Lab):
    lab.open("06_floating_point_formats.ipynb")
    lab.run("setup", "explorer")
    explorer = lab.show("explorer").locator(".bit-explorer")
    value, box = explorer.locator('[data-row="value"]'), explorer.get_by_label("a number")

    def shows(text: str) -> None:
        explorer.get_by_text(text, exact=True).first.wait_for(timeout=20_000)

    shows("0.0999755859375")
    explorer.locator('[data-bit="0"]').click()
    shows("-0.0999755859375")
    lab.page.keyboard.press("Tab")
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


ATTENDED = (  # somebody sits here, whose progress is their own
    "import os\nos.environ.pop('PYTEST_VERSION')\nos.environ['COURSE_PROGRESS'] = 'progress.json'\n"
)
AT_THE_NUMBER = """() => {
    window.panel.content.activeCellIndex = 1
    window.panel.content.mode = 'command'
    window.panel.content.activate()
}"""


@pytest.mark.thorough("course_utils/lesson", "course_utils/figures")
def test_a_prediction_is_typed_from_the_keyboard_and_held_against_the_answer(lab: Lab):
    write_notebook(
        lab.folder / "predictions.ipynb",
        ready=ATTENDED + "from course_utils import answer, compare_bars, predict",
        number='predict("async.launch", ..., "ms")',
        names='predict("async.first", ..., among=["launch", "run"])',
        figure='compare_bars("Both", {"launch": 0.001, "run": 0.004}, guess="async.launch")',
        answers='answer("async.launch", 0.001)\nanswer("async.first", "launch")',
    )
    lab.open("predictions.ipynb")
    lab.run("ready")
    lab.page.evaluate(AT_THE_NUMBER)
    lab.page.keyboard.press("Shift+Enter")
    lab.page.wait_for_function(IDLE)
    lab.page.get_by_placeholder("a number, or 2 to 5").wait_for(timeout=30_000)
    lab.page.keyboard.press("Shift+Tab")  # from the next cell back into the box
    lab.page.keyboard.type("1/4")
    lab.page.keyboard.press("Enter")
    lab.page.get_by_text("Kept: 0.25 ms.").wait_for(timeout=30_000)
    lab.run("names")
    lab.page.locator(".jp-OutputArea option", has_text="run").click()
    lab.page.get_by_text("Kept: run.").wait_for(timeout=30_000)
    lab.run("figure", "answers")
    assert "Answer (launch): ≈ 1 ms" in lab.outputs("answers")
    boxes = lab.show("answers").locator("div b").all_inner_texts()
    assert boxes == [
        "You said 0.25 ms, it is ≈ 1 ms: 4 times too low.",
        "You said run, it is launch.",
    ]
    assert "image/png" in lab.outputs("figure")


DARK = "window.jupyterapp.commands.execute('apputils:change-theme', {theme: 'JupyterLab Dark'})"
FILTER = "image => getComputedStyle(image).filter"
CELL = "() => window.panel.content.activeCellIndex"
OPENED = "name => window.jupyterapp.shell.currentWidget.title.label === name"
WIDGET = "Controls(lambda way: (bars, way), 'alt', way=choice('way', ['ring', 'tree'], 'ring'))"


@pytest.mark.thorough("course_utils/lesson", "course_utils/figures")
def test_a_list_keeps_its_keys_figures_follow_the_theme_and_the_map_opens_chapters(lab: Lab):
    write_notebook(
        lab.folder / "look.ipynb",
        ready=ATTENDED + "from course_utils import compare_bars, start\n"
        "from course_utils.figures.controls import Controls, choice\n"
        "from course_utils.lesson import course_map\nstart('10')",
        figure="bars = compare_bars('Both', {'a': 1.0, 'b': 2.0})\nbars",
        names=WIDGET,
        map="course_map()",
    )
    lab.open("look.ipynb")
    lab.run("ready", "figure", "names", "map")
    lab.page.evaluate(DARK)
    for cell in ("figure", "names", "map"):
        image = lab.show(cell).locator(".jp-OutputArea img").first
        image.wait_for()
        assert "invert" in image.evaluate(FILTER)
    names = lab.show("names").locator("select")
    names.focus()
    before = lab.page.evaluate(CELL)
    lab.page.keyboard.press("ArrowDown")
    lab.show("names").get_by_text("tree", exact=True).last.wait_for()
    assert names.input_value() == "tree" and lab.page.evaluate(CELL) == before
    lab.show("map").get_by_title("Collectives").click()
    lab.page.wait_for_function(OPENED, arg="11_collectives.ipynb")


START = RUN_ALL.replace("() => ", "() => { ") + "; return 0 }"
SAYS = f"([id, text]) => ({TEXT_OF})(id).includes(text)"


@pytest.mark.thorough("packages/notebook_ranks", "notebooks/11")
def test_ranks_show_their_output_a_deadlock_and_a_widget_and_stop_with_the_stop_button(lab: Lab):
    write_notebook(
        lab.folder / "ranks.ipynb",
        begin="%load_ext course_utils",
        sum="%%ranks 4\nx = torch.ones(2) * rank\ndist.all_reduce(x)\nx",
        stuck="%%ranks --fails\nif rank:\n    dist.barrier()",
        widget="import torch\nfrom course_utils.chapters.collectives import ring_steps\n"
        f"{cells_of('11')['ring']}\nring_steps(ring_all_reduce)",
        loop="%%ranks 2\nprint('started')\nwhile True:\n    pass",
    )
    lab.open("ranks.ipynb")
    lab.page.set_default_timeout(240_000)
    lab.page.evaluate(START)
    lab.page.wait_for_function(SAYS, arg=["loop", "[rank 0] started"])
    lab.page.evaluate("() => window.jupyterapp.commands.execute('notebook:interrupt-kernel')")
    lab.page.wait_for_function(IDLE)
    assert "RanksInterrupted" in lab.outputs("loop")
    assert all(f"[rank {r}] tensor([6., 6.])" in lab.outputs("sum") for r in range(4))
    assert "Deadlock" in lab.outputs("stuck") and "waiting at line 3" in lab.outputs("stuck")
    cell = lab.show("widget")
    cell.get_by_text("chunks of 1/4").first.wait_for()
    image = cell.locator("img").element_handle()
    before = image.get_attribute("src")
    cell.locator(".noUi-handle").last.focus()
    lab.page.keyboard.press("ArrowRight")
    lab.page.wait_for_function(CHANGED, arg=[image, before])
