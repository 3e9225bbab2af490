"""A bound is kept to strictly, NaN keeps to none, a margin says how much tighter it could be."""

import math

import pytest

from course_utils.core.bounds import Bounded
from course_utils.core.measurement import Measurement

pytestmark = pytest.mark.without_torch


def bounded(value, above=None, below=None, **how):
    return Bounded.of(value, above, below, **how)


@pytest.mark.parametrize(
    "value, above, below, margin",
    [(12.0, 3, None, 4), (0.5, None, 2, 4), (1.0, 0.5, 8, 8), (4.0, 1, 5, 4), (3, 0, None, None),
     (-2.0, -3, None, None), (0.0, None, 5, None)],
)  # fmt: skip
def test_the_margin_is_how_much_tighter_the_looser_bound_could_be(value, above, below, margin):
    one = bounded(value, above, below)
    assert one.holds and one.margin == margin


@pytest.mark.parametrize(
    "value, above, below", [(3.0, 3, None), (3, None, 3), (9.0, 1, 5), (math.nan, 1, None),
                            (math.nan, None, 1), (math.nan, 0, 9)],
)  # fmt: skip
def test_what_touches_a_bound_or_is_no_number_does_not_hold(value, above, below):
    assert not bounded(value, above, below).holds


def test_the_words_show_the_bound_literally_and_mark_what_was_measured():
    assert str(bounded(12.0, above=3)) == "≈ 12 > 3, margin ≈ 4"
    assert str(bounded(1.03, 0.85, 1.15)) == "0.85 < ≈ 1.03 < 1.15, margin ≈ 1.21"
    assert str(bounded(4, below=5)) == "4 < 5, margin 1.25"
    assert str(bounded(2.5, above=2, is_exact=True)) == "2.5 > 2, margin 1.25"
    assert str(bounded(2.0, above=3)) == "≈ 2, wanted > 3"
    assert str(bounded(2.0, 3, 5)) == "≈ 2, wanted > 3 and < 5"


def test_a_measurement_is_its_median_in_a_readable_unit():
    times = Measurement((0.001, 0.002, 0.004), 3, 0.0, "host")
    assert str(bounded(times, below=0.005)) == "≈ 2 ms < 5 ms, margin ≈ 2.5"
    ratio = Measurement((2.0,), 1, 0.0, "host", unit="")
    assert str(bounded(ratio, above=1.5)) == "≈ 2 > 1.5, margin ≈ 1.33"


@pytest.mark.parametrize("found", [True, "3", None, [3], 3j])
def test_what_is_no_number_is_refused(found):
    with pytest.raises(TypeError, match="needs a number"):
        bounded(found, above=1)


def test_numpys_numbers_are_numbers():
    import numpy as np

    assert bounded(np.float32(4), above=2).margin == 2
    assert bounded(np.int64(4), above=np.float64(2)).holds
    with pytest.raises(TypeError):
        bounded(np.array([4, 5]), above=2)
