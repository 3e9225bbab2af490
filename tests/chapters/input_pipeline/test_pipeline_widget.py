"""The pipeline's widget: it begins where the page measured, and its picture and words follow."""

import re

import pytest

from course_utils.chapters.input_pipeline import pipeline_explorer
from course_utils.chapters.input_pipeline.pipeline import simulate
from course_utils.chapters.input_pipeline.pipeline_widget import loads_of
from course_utils.core.measurement import Measurement

pytestmark = pytest.mark.without_torch

LOAD, STEP, START = 0.0213, 0.0062, 0.015


def explorer(**more):
    return pipeline_explorer(LOAD, STEP, START, **more)


def test_unmoved_it_shows_the_pages_own_load_and_step():
    load, step, workers, depth, slow, _, reading = explorer().children
    assert (load.value, step.value, workers.value) == (21.3, 6.2, 2)
    assert (depth.value, slow.value) == (2, 1)
    assert list(load.options) == sorted(load.options) and 20.0 not in load.options
    said = 1000 * simulate([LOAD] * 30, STEP, 2, 2, START).seconds
    assert f"<b>{said:.3g} ms</b>, simulated" in reading.value
    assert "<b>4</b> workers keep up" in reading.value


def test_picture_and_words_follow_every_slider():
    load, step, workers, depth, slow, picture, reading = explorer().children
    moves = ((load, 50.0), (step, 15.0), (workers, 4), (slow, 4), (depth, 1))
    for slider, value in moves:  # depth last: it changes nothing where all take as long
        before = bytes(picture.value), reading.value
        slider.value = value
        assert bytes(picture.value) != before[0] and reading.value != before[1]


def test_what_was_measured_stands_there_only_where_the_sliders_do():
    took = Measurement((0.41, 0.42, 0.43), 3, None, "host")
    widget = explorer(measured={2: took, 0: 0.9})
    load, _, workers, depth, *_, reading = widget.children
    assert "≈ 420 ms" in reading.value
    assert "measured: ≈ 420 ms" in widget._repr_mimebundle_()["text/plain"]
    for slider, value, back in ((load, 50.0, 21.3), (depth, 3, 2), (workers, 1, 2)):
        slider.value = value
        assert "measured" not in reading.value
        slider.value = back
        assert "≈ 420 ms" in reading.value
    depth.value, workers.value = 5, 0  # without workers there is no depth
    assert "≈ 900 ms" in reading.value


def test_the_title_says_which_side_waits_and_for_how_long():
    widget = pipeline_explorer(0.03, 0.01, 0.0)
    for workers, says in ((0, "75% of the time: loading and steps take turns"), (1, "loader")):
        widget.children[2].value = workers
        assert says in widget._shown.alt


def test_as_text_it_is_the_same_from_run_to_run_but_for_what_has_its_mark():
    told = [
        re.sub(r"≈ [\d.]+ \w+", "≈", one._repr_mimebundle_()["text/plain"])
        for one in (
            pipeline_explorer(0.0213, 0.0062, 0.015, {2: 0.38}),
            pipeline_explorer(0.0197, 0.0066, 0.022, {2: 1.4}),
        )
    ]
    assert told[0] == told[1] and "worker 1: load × 15" in told[0]


def test_of_8_batches_one_is_slow_and_no_number_of_workers_is_dealt_all_of_them():
    slow = [i for i, load in enumerate(loads_of(1.0, 4, 32)) if load == 4.0]
    assert [i // 8 for i in slow] == [0, 1, 2, 3]
    assert all(len({i % workers for i in slow}) > 1 for workers in range(2, 9))


@pytest.mark.parametrize("load, step, batches", [(1e-5, 2.0, 30), (2.0, 1e-5, 1), (0.1, 0.1, 200)])
def test_it_draws_the_quick_and_the_slow_the_single_batch_and_the_many(load, step, batches):
    *sliders, picture, _ = pipeline_explorer(load, step, 0.0, batches=batches).children
    for workers in (0, 1, 8):
        sliders[2].value = workers
        assert bytes(picture.value).startswith(b"\x89PNG")


@pytest.mark.parametrize("load, step, start", [(0, 1, 0), (1, 0, 0), (-1, 1, 0), (1, 1, -1)])
def test_times_that_cannot_be_are_refused_with_what_to_give(load, step, start):
    with pytest.raises(ValueError, match=r"above 0|0 or more"):
        pipeline_explorer(load, step, start)
