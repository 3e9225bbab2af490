"""Sums as others give them: Python's from 3.12 on, and exact ones."""

import math
import sys
from fractions import Fraction

import numpy as np
import pytest

from course_utils.chapters.floating_point_formats import summation

NUMBERS = [
    [0.1] * 10,
    [1.0, 1e100, 1.0, -1e100],
    np.random.default_rng(0).normal(size=1000).tolist(),
    (np.random.default_rng(1).normal(size=999) * 1e9).tolist(),
]


@pytest.mark.parametrize("numbers", NUMBERS, ids=range(len(NUMBERS)))
def test_pythons_sum_is_neumaiers_from_3_12_on_and_plain_before(numbers):
    way = summation.neumaier if sys.version_info >= (3, 12) else summation.one_by_one
    assert sum(numbers) == way(numbers, 0.0)


@pytest.mark.parametrize("numbers", NUMBERS, ids=range(len(NUMBERS)))
def test_neumaiers_sum_is_the_exact_one_rounded_once_on_these(numbers):
    assert summation.neumaier(numbers, 0.0) == float(sum(map(Fraction, numbers)))


def test_the_largest_error_is_that_of_the_way_given():
    exact = summation.largest_error(lambda numbers, zero: np.float32(math.fsum(numbers)), 100)
    plain = summation.largest_error(summation.one_by_one, 100)
    assert exact <= 2**-24 < plain < 100 * 2**-24
