"""The widget of the ring: every digit ends everywhere."""

import pytest

from course_utils.chapters.collectives.ring_widget import (
    draw_ring_moments,
    ring_moments,
    ring_steps,
)


def whole_ring(x, net):
    """The ring of chapter 11, all of it."""
    chunks, (left, right) = x.tensor_split(net.n), ((net.rank - 1) % net.n, (net.rank + 1) % net.n)
    for step in range(2 * (net.n - 1)):
        out, into = chunks[(net.rank - step) % net.n], chunks[(net.rank - step - 1) % net.n]
        came = into.clone()
        net.exchange(out, right, came, left)
        into.copy_(into + came if step < net.n - 1 else came)


@pytest.mark.parametrize("n", [2, 3, 6])
def test_the_widgets_ring_ends_with_every_digit_everywhere(n):
    moments = ring_moments(whole_ring, n)
    assert len(moments) == 2 * (n - 1) + 1
    assert moments[0] == [[10**rank] * n for rank in range(n)]
    assert moments[-1] == [[int("1" * n)] * n] * n


def test_the_widget_moves_with_its_sliders():
    widget = ring_steps(whole_ring)
    number, step, picture, reading = widget.children
    before = picture.value
    step.value = 6
    assert picture.value != before and "done" in reading.value
    number.value = 2
    assert step.max == step.value == 2


def test_moments_beside_each_other_are_those_of_the_widget():
    said = repr(draw_ring_moments(whole_ring, steps=(0, 3, 4)))
    assert "0 of 6" in said and "3 of 6 steps done; next: all_gather" in said
    assert "rank 3: 1111 1110 1100 1000, sends chunk 0 to rank 0" in said
