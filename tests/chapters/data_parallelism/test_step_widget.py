"""The widget of a step on n devices answers its controls."""

import math

from course_utils.chapters.data_parallelism.step_widget import step_timeline


def test_the_widget_answers_its_controls():
    widget = step_timeline(measured=0.5)
    ranks, _, _, link, overlap, picture, reading = widget.children
    first = bytes(picture.value)
    assert first.startswith(b"\x89PNG") and "your ranks, measured" in reading.value
    overlap.value = False
    assert bytes(picture.value) != first
    link.value, ranks.value = "NVLink", 2
    share = float(reading.value.split("<b>")[1].split("%")[0])
    assert 80 < share <= 100 and math.isfinite(share)
