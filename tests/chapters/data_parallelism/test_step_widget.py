"""The widget of a step on n devices answers its controls."""

from course_utils.chapters.data_parallelism.step_widget import step_timeline


def ddp_buckets(sizes, first, limit):
    found = [0]
    for size in reversed(sizes):
        if found[-1] >= (limit if len(found) > 1 else first):
            found.append(0)
        found[-1] += size
    return found


def _share(reading):
    return float(reading.value.split("<b>")[1].split("%")[0])


def test_the_widget_answers_its_controls():
    widget = step_timeline(ddp_buckets)
    ranks, model, milliseconds, cap, link, overlap, picture, reading = widget.children
    first = bytes(picture.value)
    assert first.startswith(b"\x89PNG")
    link.value, ranks.value = "400 Gbit/s", 64
    assert _share(reading) == 92  # what the page's formula gives
    share = _share(reading)
    ranks.value = 256
    assert _share(reading) < share
    share = _share(reading)
    cap.value = 100
    assert _share(reading) > share  # fewer messages, so fewer latencies
    share = _share(reading)
    milliseconds.value = 180
    assert _share(reading) > share
    share = _share(reading)
    model.value = "GPT XL"
    assert _share(reading) < share
    overlap.value = False
    assert bytes(picture.value) != first
    link.value, ranks.value = "NVLink", 2
    assert 80 < _share(reading) <= 100
