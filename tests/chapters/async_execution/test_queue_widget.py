"""The widget of the command queue follows its sliders and names the bottleneck."""

import pytest

from course_utils.chapters.async_execution.queue_widget import command_queue, title
from course_utils.chapters.async_execution.streams import queue_spans

pytestmark = pytest.mark.without_torch


def test_the_widget_follows_its_sliders_and_names_the_bottleneck():
    launch, run, _back, n, _depth, picture, reading = command_queue().children
    before = picture.value, reading.value
    launch.value, run.value, n.value = 100, 10, 5
    assert (picture.value, reading.value) != before
    total = max(span.end for span in queue_spans(100, 10, 3, 5, 4))
    assert f"{total:.0f} µs" in reading.value and "times faster" in reading.value
    assert title(2, 1, 2).startswith("Launch-bound") and title(1, 2, 2).startswith("Device-bound")
    assert title(1, 1, 2).startswith("Balanced") and "take turns" in title(1, 2, 1)
    for depth, each in ((1, 23 + 35), (2, 35)):  # µs from the end of one piece to the next
        ends = [s.end for s in queue_spans(23, 35, 20, 20, depth) if s.row == "GPU"]
        assert ends[-1] - ends[-2] == pytest.approx(each)
