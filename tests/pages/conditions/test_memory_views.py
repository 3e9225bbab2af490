"""The memory views in JupyterLab, in a real browser: they answer the pointer, keys and slider."""

import random
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import nbformat
from nbformat.v4 import new_code_cell, new_notebook

from course_utils.core import files
from tests.pages.conditions.lab import HOST, Lab, needs_browser
from tests.support.toy_allocator import ToyAllocator

VIEWS = {
    "timeline": "timeline.MemoryTimeline",
    "map": "segments_map.SegmentsMap",
    "peak": "peak_icicle.PeakIcicle",
}


def write_notebook(folder: Path) -> None:
    """A notebook that shows the three views of a small snapshot, which lies beside it."""
    toy, choose, live = ToyAllocator(), random.Random(4), []
    toy.alloc(400 * 2**20, "main")
    for step in range(300):
        size = choose.randrange(1, 12) * 2**20
        live.append(toy.alloc(size, "main", "step", choose.choice(("forward", "backward"))))
        if step % 3:
            toy.free(live.pop(choose.randrange(len(live))))
    toy.dump(folder / "toy.pickle")
    begin = "from course_utils.memory.snapshots.snapshot import load\nsnapshot = load('toy.pickle')"
    cells = [new_code_cell(begin, id="begin")]
    for cell, view in VIEWS.items():
        module, name = view.split(".")
        code = f"from course_utils.memory.views.{module} import {name}\n{name}(snapshot)"
        cells.append(new_code_cell(code, id=cell))
    metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    nbformat.write(new_notebook(cells=cells, metadata=metadata), folder / "views.ipynb")


def photograph(lab: Lab, name: str, view: Any) -> None:
    (files.ROOT / "build").mkdir(exist_ok=True)
    for theme in ("JupyterLab Light", "JupyterLab Dark"):
        lab.page.evaluate(
            "theme => window.jupyterapp.commands.execute('apputils:change-theme', {theme})", theme
        )
        lab.page.wait_for_timeout(500)
        shade = theme[-5:].strip().lower()
        view.screenshot(path=files.ROOT / "build" / f"memory_{name}_{shade}.png")


def says(place: Any, text: str) -> None:
    place.get_by_text(text).first.wait_for(timeout=20_000)


@needs_browser
def test_the_memory_views_answer_the_pointer_the_keys_and_the_slider(lab: Lab):
    write_notebook(lab.folder)
    lab.open("views.ipynb")
    lab.run_all()

    timeline = lab.show("timeline").locator(".memory-timeline")
    says(timeline, "The trace is complete")
    canvas, picked = timeline.locator("canvas"), timeline.locator(".picked")
    box = canvas.bounding_box()
    canvas.hover(position={"x": box["width"] * 0.7, "y": box["height"] - 40})
    says(picked, "400.0 MiB (419,430,400 B), from event 2, never freed")
    canvas.click(position={"x": box["width"] * 0.7, "y": box["height"] - 40})
    canvas.hover(position={"x": box["width"] * 0.7, "y": 8})
    says(picked, "main, main.py:10")
    photograph(lab, "timeline", timeline)
    everything = timeline.locator(".reading").inner_text()
    timeline.get_by_label("zoom to the peak").click()
    lab.page.wait_for_function(
        "([place, old]) => place.innerText !== old",
        arg=[timeline.locator(".reading").element_handle(), everything],
        timeout=20_000,
    )

    segments = lab.show("map").locator(".segments-map")
    says(segments, "are handed out")
    photograph(lab, "map", segments)
    slider = segments.get_by_label("moment")
    slider.focus()
    lab.page.keyboard.press("Home")
    says(segments, "0 B of 0 B reserved are handed out")
    lab.page.keyboard.press("ArrowRight")
    says(segments, "after event 1: segment_alloc, 400.0 MiB")
    lab.page.keyboard.press("ArrowRight")
    says(segments, "400.0 MiB of 400.0 MiB reserved are handed out (100%)")
    segments.locator("canvas").hover(position={"x": 100, "y": 6})
    says(segments.locator(".picked"), "in a segment of 400.0 MiB")

    icicle = lab.show("peak").locator(".peak-icicle")
    says(icicle, "everything live")
    photograph(lab, "peak", icicle)
    icicle.get_by_role("button", name="forward, forward.py:12").first.click()
    says(icicle.locator(".reading"), "of what is live")
    assert icicle.get_by_role("button", name="backward, backward.py").count() == 0
    icicle.get_by_role("button", name="beginning").click()
    says(icicle, "before the trace")
    assert {urlparse(address).hostname for address in lab.requests} <= {HOST, None, ""}
