"""The widget of the ring: every digit ends everywhere."""

import pytest

from course_utils.chapters.collectives.ring_widget import ring_moments, ring_steps


@pytest.mark.parametrize("n", [2, 3, 6])
def test_the_widgets_ring_ends_with_every_digit_everywhere(n):
    moments = ring_moments(n)
    assert len(moments) == 2 * (n - 1) + 1
    assert moments[0] == [[10**rank] * n for rank in range(n)]
    assert moments[-1] == [[int("1" * n)] * n] * n


def test_the_widget_moves_with_its_sliders():
    widget = ring_steps()
    number, step, picture, reading = widget.children
    before = picture.value
    step.value = 6
    assert picture.value != before and "done" in reading.value
    number.value = 2
    assert step.max == step.value == 2
