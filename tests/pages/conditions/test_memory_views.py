"""The memory views in JupyterLab, in a real browser: they answer the pointer, keys and slider."""

from typing import Any
from urllib.parse import urlparse

import pytest

from snapshots_and_traces.tests.support import snapshot_pages as made
from snapshots_and_traces.tests.support.trace_pages import write_notebook
from tests.pages.conditions.lab import HOST, Lab, needs_browser

BEGIN = "from snapshots_and_traces.snapshots.loading import load\nsnapshot = load('toy.pickle')"
VIEW = "from course_utils.memory.views.{0} import {1}\n{1}(snapshot)"
VIEWS = {
    "timeline": VIEW.format("timeline", "MemoryTimeline"),
    "map": VIEW.format("segments_map", "SegmentsMap"),
    "peak": VIEW.format("peak_icicle", "PeakIcicle"),
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

    timeline = lab.show("timeline").locator(".memory-timeline")
    says(timeline, "The trace is complete")
    canvas, picked = timeline.locator("canvas"), timeline.locator(".picked")
    box = canvas.bounding_box()
    canvas.hover(position={"x": box["width"] * 0.7, "y": box["height"] - 40})
    says(picked, "400.0 MiB (419,430,400 B), from event 2, never freed")
    canvas.click(position={"x": box["width"] * 0.7, "y": box["height"] - 40})
    canvas.hover(position={"x": box["width"] * 0.7, "y": 8})
    says(picked, "main, main.py:10")
    everything = timeline.locator(".reading").inner_text()
    timeline.get_by_label("zoom to the peak").click()
    lab.page.wait_for_function(
        "([place, old]) => place.innerText !== old",
        arg=[timeline.locator(".reading").element_handle(), everything],
        timeout=60_000,
    )

    segments = lab.show("map").locator(".segments-map")
    says(segments, "are handed out")
    segments.get_by_label("moment").focus()
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
    icicle.get_by_role("button", name="forward, forward.py:12").first.click()
    says(icicle.locator(".reading"), "of what is live")
    assert icicle.get_by_role("button", name="backward, backward.py").count() == 0
    icicle.get_by_role("button", name="beginning").click()
    says(icicle, "before the trace")
    assert {urlparse(address).hostname for address in lab.requests} <= {HOST, None, ""}
