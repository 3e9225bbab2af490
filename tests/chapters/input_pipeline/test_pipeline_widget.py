"""The pipeline's widget: it begins where the page measured, and its picture and words follow."""

import pytest

from course_utils.chapters.input_pipeline import pipeline_explorer
from course_utils.chapters.input_pipeline.pipeline import simulate
from course_utils.chapters.input_pipeline.pipeline_widget import loads_of

pytestmark = pytest.mark.without_torch


def test_unmoved_it_shows_the_pages_own_times_and_picture_and_words_follow_every_slider():
    widget = pipeline_explorer(0.0213, 0.0062, 0.015)
    load, step, workers, depth, slow, picture, reading = widget.children
    assert (load.value, step.value, workers.value) == (21.3, 6.2, 2)
    assert (depth.value, slow.value) == (2, 1)
    said = 1000 * simulate([0.0213] * 30, 0.0062, 2, 2, 0.015).seconds
    assert f"<b>{said:.3g} ms</b>, simulated" in reading.value
    assert "<b>4</b> workers keep up" in reading.value
    workers.value = 0
    assert "take turns" in widget._shown.drawn
    moves = ((load, 50.0), (step, 15.0), (workers, 4), (slow, 4), (depth, 1))
    for slider, value in moves:  # depth last: it changes nothing where all take as long
        before = bytes(picture.value), reading.value
        slider.value = value
        assert bytes(picture.value) != before[0] and reading.value != before[1]


def test_of_8_batches_one_is_slow_and_no_number_of_workers_is_dealt_all_of_them():
    slow = [i for i, load in enumerate(loads_of(1.0, 4, 32)) if load == 4.0]
    assert [i // 8 for i in slow] == [0, 1, 2, 3]
    assert all(len({i % workers for i in slow}) > 1 for workers in range(2, 9))
