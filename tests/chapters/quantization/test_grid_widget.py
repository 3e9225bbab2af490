"""The widget of the grid: every control moves it, and it shows what each of them is about."""

import math
import re
from itertools import pairwise

import pytest

from course_utils.chapters.quantization import grid_explorer
from course_utils.chapters.quantization.grid_widget import on_grid

pytestmark = pytest.mark.without_torch
START = {"bits": 4, "shared": "channel", "end": 100, "data": "normal", "outlier": "row", "size": 1}
MOVES = {
    "bits": 3, "shared": "group of 128", "end": 60, "data": "Laplace", "size": 30,
    "outlier": "column",
}  # fmt: skip


def decibels(**moved):
    return on_grid(**{**START, **moved}).sqnr


def best_end(**moved):
    return max(range(30, 101), key=lambda end: decibels(end=end, **moved))


def words(**moved):
    widget = grid_explorer(4)
    for control, value in moved.items():
        widget._controls[control].value = value
    return re.sub("<.*?>", "", widget._reading.value)


def test_unmoved_it_says_decibels_and_bits_and_every_control_moves_the_picture():
    widget = grid_explorer(4)
    assert (
        widget._shown.alt == "4 bits, one scale per channel of 256: 18.4 dB in 4.06 bits per weight"
    )
    assert "against" not in widget._reading.value
    for control, value in MOVES.items():
        before = bytes(widget._picture.value)
        widget._controls[control].value = value
        assert bytes(widget._picture.value) != before, control
    assert widget._shown.alt.startswith("3 bits, one scale per group of 128, a column × 30: ")
    assert "dB against" in widget._reading.value and "the last column" in widget._reading.value


@pytest.mark.parametrize(
    "shared, each, n_bytes",
    [
        ("tensor", "4.001", 64 * 256 // 2 + 2),
        ("channel", "4.062", 64 * 256 // 2 + 2 * 64),
        ("group of 128", "4.125", 64 * 256 // 2 + 2 * 128),
        ("group of 32", "4.500", 64 * 256 // 2 + 2 * 512),
    ],
)
def test_scales_cost_two_bytes_each(shared, each, n_bytes):
    said = words(shared=shared)
    assert f"{each} bits per weight" in said and f"{n_bytes:,} bytes (BF16: 32,768)" in said


@pytest.mark.parametrize("shared", ["tensor", "channel", "group of 32"])
def test_from_3_bits_on_a_bit_gains_what_the_smaller_step_says(shared):
    found = [decibels(bits=bits, shared=shared) for bits in range(3, 9)]
    gains = [more - less for less, more in pairwise(found)]
    steps = [20 * math.log10((2 ** (b + 1) - 1) / (2**b - 1)) for b in range(3, 8)]
    assert gains == pytest.approx(steps, abs=0.4)


def test_a_large_row_ruins_one_scale_for_all_and_no_scale_of_a_row():
    assert decibels(shared="tensor", size=100) < 0.1
    for shared in ("channel", "group of 128", "group of 32"):
        assert decibels(shared=shared, size=100) == decibels(shared=shared)


def test_a_large_column_ruins_every_row_and_smaller_groups_confine_it():
    found = [
        decibels(shared=shared, outlier="column", size=100)
        for shared in ("tensor", "channel", "group of 128", "group of 32")
    ]
    assert found == sorted(found) and found[1] < 2 and found[3] > found[1] + 8


@pytest.mark.parametrize("data", ["normal", "Laplace"])
def test_with_fewer_bits_the_grid_should_end_further_in(data):
    ends = [best_end(bits=bits, shared="tensor", data=data) for bits in (8, 6, 4)]
    assert ends == sorted(ends, reverse=True) and ends[0] > 90 and ends[-1] < 65
    assert best_end(shared="tensor", data="Laplace") < best_end(shared="tensor")


def test_the_words_count_what_is_clipped_and_what_becomes_zero():
    values = on_grid(**{**START, "shared": "tensor"}).values
    limit = abs(values).max()
    said = words(shared="tensor", end=50)
    assert f"{(abs(values) > limit / 2).mean():.2%} clipped" in said
    assert f"{(abs(values) < limit / 2 / 15).mean():.1%} rounded to zero" in said
    assert "0.00% clipped" in words(shared="tensor")
