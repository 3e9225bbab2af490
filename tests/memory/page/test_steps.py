"""Steps in a curve: low points where it falls and rises again, none where it only grows."""

import numpy as np
import pytest

from course_utils.memory.page.steps import low_points


def saw(steps: int, height: int, growth: int = 0) -> np.ndarray:
    """A curve that climbs by `height` and falls back but for `growth`, each step."""
    curve, floor = [0], 100
    for _ in range(steps):
        curve += [floor + height * up // 10 for up in range(11)]
        floor += growth
    return np.array([*curve, floor], np.int64)


@pytest.mark.parametrize("growth", [0, 3, 30])
def test_a_step_ends_where_the_curve_is_lowest(growth):
    places = low_points(saw(8, 100, growth))
    assert places.tolist() == [12 + 11 * step for step in range(7)]


@pytest.mark.parametrize(
    "curve",
    [np.arange(1000) * 10**6, np.zeros(50, np.int64), np.zeros(1, np.int64), saw(8, 100, 60)],
    ids=["only grows", "nothing", "one moment", "grows more than it frees"],
)
def test_where_no_steps_are_none_are_found(curve):
    assert low_points(curve).tolist() == []


def test_shallow_steps_on_a_high_floor_are_found():
    assert len(low_points(saw(8, 100) + 2000)) >= 6
