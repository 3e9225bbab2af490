"""Sums in a format, step by step: what a loop in that format would give."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from course_utils.chapters.floating_point_formats.formats import Format


@dataclass(frozen=True)
class Rounded:
    """A number that knows only + and −, and rounds each result to its format."""

    value: float
    fmt: Format

    def __add__(self, other: "Rounded") -> "Rounded":
        return Rounded(self.fmt.round(self.value + other.value), self.fmt)

    def __sub__(self, other: "Rounded") -> "Rounded":
        return Rounded(self.fmt.round(self.value - other.value), self.fmt)


def one_by_one(numbers: Sequence[Any], zero: Any) -> Any:
    """Each number added to the total so far. Error: at most about n·u·Σ|x| (Higham 1993)."""
    total = zero
    for number in numbers:
        total = total + number
    return total


def kahan(numbers: Sequence[Any], zero: Any) -> Any:
    """Carries what each addition lost to the next (Kahan 1965). Error: about 2u·Σ|x|."""
    total = lost = zero
    for number in numbers:
        wanted = number - lost
        grown = total + wanted
        lost = (grown - total) - wanted
        total = grown
    return total


def neumaier(numbers: Sequence[Any], zero: Any) -> Any:
    """What additions lost is added up apart, and once in the end: Python's `sum` from 3.12 on.

    Where Kahan's sum loses the total to a larger number, this one doesn't. Source: Neumaier 1974,
    "Rundungsfehleranalyse einiger Verfahren zur Summation endlicher Summen".
    """
    total = lost = zero
    for number in numbers:
        grown = total + number
        large, small = (total, number) if abs(total) >= abs(number) else (number, total)
        lost += (large - grown) + small
        total = grown
    return total + lost


def largest_error(way: Callable[[Any, Any], Any], count: int, draws: int = 20) -> float:
    """Of sums of `count` numbers between 0 and 1 in FP32, the largest relative error."""
    generators = (np.random.default_rng(seed) for seed in range(draws))
    tries = [generator.uniform(0, 1, count).astype(np.float32) for generator in generators]
    return max(relative_error(way(numbers, np.float32(0)), numbers) for numbers in tries)


def relative_error(total: float, numbers: Sequence[float] | np.ndarray) -> float:
    """|total − exact| / Σ|x|, the exact sum by math.fsum."""
    scale = math.fsum(abs(float(x)) for x in numbers)
    return abs(float(total) - math.fsum(map(float, numbers))) / scale
