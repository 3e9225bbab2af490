"""Ranks in JupyterLab, in a real browser: output, a deadlock, the stop button, the widget."""

import json

import nbformat
from nbformat.v4 import new_code_cell, new_notebook

from course_utils.cli import notebooks
from course_utils.core import files
from tests.pages.conditions.lab import IDLE, RUN_ALL, TEXT_OF, Lab, needs_browser

PAGE = json.loads((files.NOTEBOOKS / "11_collectives.ipynb").read_text(encoding="utf-8"))["cells"]
RING = next("".join(cell["source"]) for cell in PAGE if cell["id"] == "ring")
CELLS = {
    "begin": "%load_ext course_utils",
    "sum": "%%ranks 4\nx = torch.ones(2) * rank\ndist.all_reduce(x)\nx",
    "stuck": "%%ranks --fails\nif rank:\n    dist.barrier()",
    "widget": "import torch\nfrom course_utils.chapters.collectives import ring_steps\n"
    f"{RING}\nring_steps(ring_all_reduce)",
    "loop": "%%ranks 2\nprint('started')\nwhile True:\n    pass",
}
START = RUN_ALL.replace("() => ", "() => { ") + "; return 0 }"
SAYS = f"([id, text]) => ({TEXT_OF})(id).includes(text)"


@needs_browser
def test_ranks_in_jupyterlab(lab: Lab):
    notebook = new_notebook(
        cells=[new_code_cell(source, id=name) for name, source in CELLS.items()]
    )
    notebook.metadata["kernelspec"] = notebooks.KERNEL
    nbformat.write(notebook, lab.folder / "small.ipynb")
    lab.open("small.ipynb")
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
    before = cell.locator("img").get_attribute("src")
    cell.locator(".noUi-handle").last.focus()
    lab.page.keyboard.press("ArrowRight")
    image = cell.locator("img").element_handle()
    lab.page.wait_for_function("([img, old]) => img.src !== old", arg=[image, before])
    (files.ROOT / "build").mkdir(exist_ok=True)
    cell.screenshot(path=files.ROOT / "build" / "ring_in_jupyterlab.png")
