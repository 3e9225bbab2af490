"""The widget of a step on n devices answers its controls."""

from course_utils.chapters.data_parallelism.step_widget import step_timeline


def _share(reading):
    return float(reading.value.split("<b>")[1].split("%")[0])


def test_the_widget_answers_its_controls():
    widget = step_timeline()
    ranks, _, _, bucket, link, overlap, picture, reading = widget.children
    first = bytes(picture.value)
    assert first.startswith(b"\x89PNG")
    ranks.value = 64
    share = _share(reading)
    bucket.value = 100
    assert _share(reading) > share  # fewer messages, so fewer latencies
    overlap.value = False
    assert bytes(picture.value) != first
    link.value, ranks.value = "NVLink", 2
    assert 80 < _share(reading) <= 100
