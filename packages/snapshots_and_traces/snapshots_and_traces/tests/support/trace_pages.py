"""A trace's page in a browser, and what a reader would see and do there."""

from pathlib import Path
from typing import Any

import nbformat
from nbformat.v4 import new_code_cell, new_notebook

from snapshots_and_traces.tests.support.traces import call, launched, note, op
from snapshots_and_traces.trace_viewer.page import trace_page

EVENTS = [  # µs: a step in which the GPU waits after an .item(), and for the last launch
    note("ProfilerStep#3", 0, 200), op("aten::linear", 5, 20), op("aten::addmm", 8, 15),
    *launched(1, 10, 20, 30, "void gemm<float>(float*)"), call("cudaStreamSynchronize", 30, 36),
    op("aten::item", 29, 38), op("aten::relu", 105, 20), *launched(2, 110, 115, 40, "relu"),
    *launched(3, 20, 55, 10, "ncclDevKernel_AllReduce", stream=20),
    *launched(4, 170, 175, 5, "last"),
]  # fmt: skip


def shown(sheet: Any, page: Any, folder: Path) -> None:
    """Opens a page of one file and waits until it is drawn."""
    sheet.goto(page.save(folder / "page.html").as_uri())
    sheet.wait_for_selector("html[data-ready]", state="attached", timeout=60_000)


def trace_shown(sheet: Any, trace: Any, folder: Path, name: str = "trace") -> None:
    shown(sheet, trace_page(trace, name), folder)


def view(sheet: Any) -> tuple[float, float]:
    """Begin and end of what is shown, in ns."""
    return sheet.evaluate("low"), sheet.evaluate("high")


def place(sheet: Any, name: str) -> dict[str, float]:
    """Where the middle of the first event of a name is, on the lanes."""
    box = sheet.evaluate(
        "name => boxOf(found(words.names.map(matcher(name)))[0], $('scroller').scrollTop)", name
    )
    return {"x": (box["x"] + box["end"]) / 2, "y": (box["y"] + box["foot"]) / 2}


def said(sheet: Any) -> dict[str, str]:
    """The title and the facts of what is selected."""
    lines = [line.split(": ", 1) for line in sheet.locator("#facts p").all_inner_texts()]
    return {"title": sheet.locator("#title").inner_text(), **{k: v for k, *v in lines for v in v}}


def drag(sheet: Any, where: Any, start: int, end: int, at: int = 60) -> None:
    box = where.bounding_box()
    sheet.mouse.move(box["x"] + start, box["y"] + at)
    sheet.mouse.down()
    sheet.mouse.move(box["x"] + end, box["y"] + at, steps=3)
    sheet.mouse.up()


def painted(sheet: Any) -> None:
    """Waits until what was asked of a page has been drawn."""
    frame = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
    sheet.evaluate(frame)


def write_notebook(path: Path, **cells: str) -> None:
    """A notebook of these cells, by their ids."""
    metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    made = [new_code_cell(code, id=name) for name, code in cells.items()]
    nbformat.write(new_notebook(cells=made, metadata=metadata), path)
