"""The memory views in JupyterLab, in a real browser: they answer the pointer, keys and slider."""

from typing import Any
from urllib.parse import urlparse

import pytest

from snapshots_and_traces.tests.support import snapshot_pages as made
from snapshots_and_traces.tests.support.trace_pages import write_notebook
from tests.pages.conditions.lab import HOST, Lab, needs_browser

BEGIN = "from snapshots_and_traces.snapshots.loading import load\nsnapshot = load('toy.pickle')"
VIEW = "from course_utils.memory.views import {0}\n{0}(snapshot)"
VIEWS = {
    "timeline": VIEW.format("MemoryTimeline"),
    "map": VIEW.format("SegmentsMap"),
}


def says(place: Any, text: str) -> None:
    place.get_by_text(text).first.wait_for(timeout=60_000)


@needs_browser
@pytest.mark.thorough(
    "course_utils/memory/views", "packages/snapshots_and_traces", "course_utils/figures"
)
def test_the_memory_views_answer_the_pointer_the_keys_and_the_slider(lab: Lab):
    made.busy().dump(lab.folder / "toy.pickle")
    write_notebook(lab.folder / "views.ipynb", begin=BEGIN, **VIEWS)
    lab.open("views.ipynb")
    lab.run_all()

    def view(name: str) -> Any:
        frame = lab.show(name).frame_locator("iframe")
        frame.locator("html[data-ready]").wait_for(state="attached", timeout=60_000)
        return frame

    timeline = view("timeline")
    says(timeline, "The largest part, 400.0 MiB")
    assert timeline.locator("#timeline").is_visible() and not timeline.locator("#map").is_visible()
    box = timeline.locator("#timeline").bounding_box()
    timeline.locator("#timeline").hover(position={"x": box["width"] * 0.7, "y": box["height"] - 40})
    says(timeline, "main, main.py:10: 400.0 MiB")
    timeline.get_by_role("button", name="zoom in").click()
    timeline.get_by_role("button", name="next out of memory").click()
    says(timeline, "oom 900.0 MiB")

    segments = view("map")
    segments.locator("#slider").focus()
    lab.page.keyboard.press("Home")
    says(segments, "0 segments")
    lab.page.keyboard.press("ArrowRight")
    lab.page.keyboard.press("ArrowRight")
    says(segments, "1 segment, 400.0 MiB: 400.0 MiB in use")
    assert not segments.locator("#timeline").is_visible()
    assert not segments.locator("#search").is_visible()
    segments.locator("#map").click(position={"x": 100, "y": 6})
    says(segments, "A block of 400.0 MiB, since event 2")

    assert {urlparse(address).hostname for address in lab.requests} <= {HOST, None, ""}
