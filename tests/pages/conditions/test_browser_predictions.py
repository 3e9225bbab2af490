"""A prediction in JupyterLab: typed into its box from the keyboard, drawn, and held against."""

import json

import nbformat

from tests.pages.conditions.lab import IDLE, Lab, needs_browser

CELLS = {
    "ready": "import os; os.environ.pop('PYTEST_VERSION')  # somebody sits here\n"
    "from course_utils import answer, compare_bars, predict",
    "number": 'predict("async.launch", ..., "ms")',
    "names": 'predict("async.first", ..., among=["launch", "run"])',
    "figure": 'compare_bars("Both", {"launch": 0.001, "run": 0.004}, guess="async.launch")',
    "answers": 'answer("async.launch", 0.001)\nanswer("async.first", "launch")',
}
AT_THE_NUMBER = """() => {
    window.panel.content.activeCellIndex = 1
    window.panel.content.mode = 'command'
    window.panel.content.activate()
}"""


@needs_browser
def test_a_prediction_is_typed_from_the_keyboard_and_held_against_the_answer(lab: Lab):
    written = [nbformat.v4.new_code_cell(source, id=id) for id, source in CELLS.items()]
    notebook = nbformat.v4.new_notebook(cells=written)
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    nbformat.write(notebook, lab.folder / "predictions.ipynb")
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
    (said,) = json.loads(lab.outputs("answers"))
    assert said["text"] == (
        "You predicted 0.25 ms. It is ≈ 1 ms: you were ≈ 4 times too low.\n"
        "You chose run. It is launch: not what you chose.\n"
    )
    assert "image/png" in lab.outputs("figure")
