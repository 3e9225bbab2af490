"""The widget of a day with stops answers its sliders, and begins with something sensible."""

import re

import pytest

from course_utils.chapters.beyond_one_machine.save_widget import draw_day, save_explorer

GPU_HOURS = 50_676


def percents(text):
    return [int(found) for found in re.findall(r"(\d+)%", text)]


def test_unmoved_it_shows_an_interval_that_can_be_bettered():
    *_, reading = save_explorer(GPU_HOURS).children
    kept, most = percents(reading.value)
    assert 0 < kept < most < 100 and "every 3.09 hours" in reading.value


def test_picture_and_words_follow_every_slider():
    gpus, save_seconds, minutes, picture, reading = save_explorer(GPU_HOURS).children
    for slider, value in ((gpus, 131072), (save_seconds, 5), (minutes, 10)):
        before = bytes(picture.value), reading.value
        slider.value = value
        assert bytes(picture.value) != before[0] and reading.value != before[1]


@pytest.mark.parametrize("gpus, save_seconds, minutes", [(1024, 1, 480), (131072, 600, 480)])
def test_what_the_day_is_made_of_adds_up(gpus, save_seconds, minutes):
    picture, _ = draw_day(gpus, save_seconds, minutes, GPU_HOURS)
    said = picture.bundle("")["text/plain"]
    assert abs(sum(percents(said)) - 100) <= 2


def test_as_text_the_day_is_the_same_each_time():
    first, again = (draw_day(16384, 60, 60, GPU_HOURS)[0] for _ in range(2))
    assert first.bundle("")["text/plain"] == again.bundle("")["text/plain"]
