"""Numbers as text: the same in every run for what is exact, marked for what is live."""

import math

import numpy as np
import pytest

from course_utils.figures.drawn.rounded import amount, digest, number, reach, settled

pytestmark = pytest.mark.without_torch


def test_a_number_has_three_digits_or_is_whole():
    values = [1024, 0.0123456, 2e9, -0.0, 7 + 1e-13, 1234.56, math.inf, math.nan]
    assert list(map(number, values)) == ["1024", "0.0123", "2e+09", "0", "7", "1230", "inf", "nan"]


def test_a_live_number_is_settled_whatever_it_is():
    for value in (0.0, 1.5, -2e-9, 12_345.678, 3e11):
        assert settled(f"a: {amount(value, live=True)}; b") == "a: ≈; b"


def test_noise_in_the_last_bits_changes_neither_a_number_nor_a_digest():
    values = np.array([0.1, 1 / 3, 1e5, 0.0, 2e-17])
    noisy = values * (1 + 1e-12) + [0, 0, 0, 1e-18, 1e-18]
    assert [number(v) for v in values[:3]] == [number(v) for v in noisy[:3]]
    assert digest(values) == digest(noisy)


def test_a_digest_changes_with_one_value_of_many_the_order_the_shape_and_a_text():
    values = np.linspace(1, 2, 1000)
    found = [digest(values), digest(values[::-1]), digest(values.reshape(2, 500))]
    for factor in (1.01, 0.8, -1, 10, 1e-9):
        other = values.copy()
        other[500] *= factor
        found.append(digest(other))
    found += [digest(list("ab")), digest(["a", "c"])]
    assert len(set(found)) == len(found)


@pytest.mark.parametrize("values", [[], [math.nan], [math.inf, 0.0], [1e-310], [1e308, -1e308]])
def test_any_numbers_have_a_digest_and_a_reach(values):
    assert len(digest(np.array(values))) == 7
    assert reach(np.array(values), live=False)
