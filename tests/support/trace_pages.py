"""A trace's page in a browser, and what a reader would see and do there."""

from pathlib import Path
from typing import Any

from course_utils.core import files
from course_utils.traces.page.page import trace_page
from tests.support.traces import call, launched, note, op

EVENTS = [  # µs: a step in which the GPU waits after an .item(), and for the last launch
    note("ProfilerStep#3", 0, 200), op("aten::linear", 5, 40), op("aten::addmm", 8, 20),
    *launched(1, 10, 20, 30, "void gemm<float>(float*)"), call("cudaStreamSynchronize", 50, 16),
    op("aten::item", 49, 18), op("aten::relu", 105, 20), *launched(2, 110, 115, 40, "relu"),
    *launched(3, 20, 55, 10, "ncclDevKernel_AllReduce", stream=20),
    *launched(4, 170, 175, 5, "last"),
]  # fmt: skip


def shown(sheet: Any, trace: Any, folder: Path, name: str = "trace") -> None:
    """Opens the page of a trace and waits until it is drawn."""
    sheet.goto(trace_page(trace, name).save(folder / "page.html").as_uri())
    sheet.wait_for_selector("html[data-ready]", state="attached", timeout=30_000)


def view(sheet: Any) -> tuple[float, float]:
    """Begin and end of what is shown, in ns."""
    return sheet.evaluate("low"), sheet.evaluate("high")


def place(sheet: Any, name: str) -> dict[str, float]:
    """Where the middle of the first event of a name is, on the lanes."""
    box = sheet.evaluate(
        "name => boxOf(found(matching(name)).sort(inTime)[0], $('scroller').scrollTop)", name
    )
    return {"x": (box["x"] + box["end"]) / 2, "y": (box["y"] + box["foot"]) / 2}


def said(sheet: Any) -> dict[str, str]:
    """The title and the facts of what is selected."""
    lines = [line.split(": ", 1) for line in sheet.locator("#facts p").all_inner_texts()]
    return {"title": sheet.locator("#title").inner_text(), **{k: v for k, *v in lines for v in v}}


def photograph(sheet: Any, name: str) -> None:
    (files.ROOT / "build").mkdir(exist_ok=True)
    sheet.screenshot(path=files.ROOT / "build" / f"trace_page_{name}.png")


def colour(sheet: Any, x: float, y: float) -> str:
    """What is drawn at a place of the lanes."""
    read_pixel = "([x, y]) => $('lanes').getContext('2d').getImageData(x, y, 1, 1).data"
    red, green, blue, _ = sheet.evaluate(f"at => Array.from(({read_pixel})(at))", [x, y])
    return f"#{red:02X}{green:02X}{blue:02X}"


def drag(sheet: Any, where: Any, start: int, end: int, at: int = 60) -> None:
    box = where.bounding_box()
    sheet.mouse.move(box["x"] + start, box["y"] + at)
    sheet.mouse.down()
    sheet.mouse.move(box["x"] + end, box["y"] + at, steps=3)
    sheet.mouse.up()
    sheet.wait_for_timeout(50)
