"""A bound is kept to strictly, NaN keeps to none, a margin says how much tighter it could be."""

import math

import numpy as np
import pytest

from course_utils.core.claims import Bounded
from course_utils.core.measurement import Measurement

pytestmark = pytest.mark.without_torch


@pytest.mark.parametrize(
    "value, above, below, margin",
    [(12.0, 3, None, 4), (0.5, None, 2, 4), (1.0, 0.5, 8, 8), (4.0, 1, 5, 4), (3, 0, None, None),
     (-2.0, -3, None, None), (0.0, None, 5, None), (np.float32(4), 2, np.float64(8), 2)],
)  # fmt: skip
def test_the_margin_is_how_much_tighter_the_looser_bound_could_be(value, above, below, margin):
    one = Bounded.of(value, above, below)
    assert one.holds and one.margin == margin


@pytest.mark.parametrize(
    "value, above, below", [(3.0, 3, None), (3, None, 3), (9.0, 1, 5), (math.nan, 0, 9)]
)
def test_what_touches_a_bound_or_is_no_number_does_not_hold(value, above, below):
    assert not Bounded.of(value, above, below).holds


@pytest.mark.parametrize(
    "value, above, below, words",
    [
        (12.0, 3, None, "≈ 12 > 3, margin ≈ 4"),
        (1.03, 0.85, 1.15, "0.85 < ≈ 1.03 < 1.15, margin ≈ 1.21"),
        (4, None, 5, "4 < 5, margin 1.25"),
        (2.0, 3, 5, "≈ 2, wanted > 3 and < 5"),
        (Measurement((0.001, 0.002, 0.004), 3, 0, ""), None, 0.005, "≈ 2 ms < 5 ms, margin ≈ 2.5"),
    ],
)
def test_the_words_show_the_bound_literally_and_mark_what_was_measured(value, above, below, words):
    assert str(Bounded.of(value, above, below)) == words


@pytest.mark.parametrize("found", [True, "3", None, [3], np.array([4, 5])])
def test_what_is_no_number_is_refused(found):
    with pytest.raises(TypeError, match="needs a number"):
        Bounded.of(found, 1, None)
