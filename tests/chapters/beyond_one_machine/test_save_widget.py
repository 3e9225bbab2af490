"""The widget of a day with stops answers its sliders, and begins with something sensible."""

import re

from course_utils.chapters.beyond_one_machine.save_widget import save_explorer

GPU_HOURS = 50_676


def percents(text):
    return [int(found) for found in re.findall(r"(\d+)%", text)]


def test_unmoved_it_shows_an_interval_that_can_be_bettered_and_it_follows_every_slider():
    gpus, save_seconds, minutes, picture, reading = save_explorer(GPU_HOURS).children
    kept, most = percents(reading.value)
    assert 0 < kept < most < 100 and "every 3.09 hours" in reading.value
    for slider, value in ((gpus, 131072), (save_seconds, 5), (minutes, 10)):
        before = bytes(picture.value), reading.value
        slider.value = value
        assert bytes(picture.value) != before[0] and reading.value != before[1]
