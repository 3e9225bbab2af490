"""Sums in a format, step by step: what a loop in that format would give."""

from collections.abc import Sequence
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


def pairwise(numbers: Sequence[Any], zero: Any) -> Any:
    """Halves summed apart, then added. Error: at most about log₂(n)·u·Σ|x| (Higham 1993)."""
    if len(numbers) <= 1:
        return numbers[0] if len(numbers) else zero
    half = len(numbers) // 2
    return pairwise(numbers[:half], zero) + pairwise(numbers[half:], zero)


def kahan(numbers: Sequence[Any], zero: Any) -> Any:
    """Carries what each addition lost to the next (Kahan 1965). Error: about 2u·Σ|x|."""
    total = lost = zero
    for number in numbers:
        wanted = number - lost
        grown = total + wanted
        lost = (grown - total) - wanted
        total = grown
    return total


def relative_error(total: float, numbers: Sequence[float] | np.ndarray) -> float:
    """|total − exact| / Σ|x|, the exact sum by math.fsum."""
    import math

    scale = math.fsum(abs(float(x)) for x in numbers)
    return abs(float(total) - math.fsum(map(float, numbers))) / scale
