"""Drawn numbers as text that is the same in every run: exact ones rounded, live ones marked."""

import hashlib
import re
from collections.abc import Iterable
from typing import Any

import numpy as np

# What a comparison of outputs takes for the same whatever its number: tests/sanitise.cfg has it.
MEASURED = re.compile(r"≈\s?[-+]?[\d.,]+(e[-+]?\d+)?\s?[\w%/µμ×]*")
DIGITS = 3


def number(value: float) -> str:
    """A number in three digits, a whole one below a million in full: `0.0123`, `1024`, `2e+09`."""
    value = float(value)
    if abs(value) < 1e6 and abs(value - round(value)) <= 1e-6 * abs(value):
        return str(round(value))
    return f"{float(f'{value:.{DIGITS}g}'):g}"


def amount(value: float, live: bool) -> str:
    """A number as `number` writes it, after the mark of what varies from run to run if `live`."""
    return f"≈ {value:.{DIGITS}g}" if live else number(value)


def reach(values: Any, live: bool) -> str:
    """The smallest and the largest of some numbers: `0 to 8`."""
    finite = np.asarray(values)[np.isfinite(values)]
    if not finite.size:
        return "nowhere"
    return f"{amount(finite.min(), live)} to {amount(finite.max(), live)}"


def settled(text: str) -> str:
    """The text without the numbers that vary, as comparisons see it."""
    return MEASURED.sub("≈", text)


def joined(texts: Iterable[str]) -> str:
    """Texts on one line, each in one piece."""
    return " · ".join(" ".join(text.split()) for text in texts)


def digest(*values: Any) -> str:
    """Six characters that differ when a number (in three digits) or a text among `values` does."""
    found = hashlib.sha256()
    for value in values:
        array = np.asarray(value)
        if array.dtype.kind in "biuf":
            found.update(b"".join(part.tobytes() for part in _in_digits(array.astype(float))))
        else:
            found.update("\0".join(map(str, array.ravel())).encode())
        found.update(str(array.shape).encode())
    return f"#{found.hexdigest()[:6]}"


def _in_digits(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each number as three digits and a power of ten, both as whole numbers.

    What is 10¹³ times smaller than the largest of its column is rounding, and counts as 0.
    """
    finite = np.nan_to_num(values, nan=1.23e300, posinf=1e300, neginf=-1e300)
    sizes = np.abs(finite)
    usual = np.where(sizes < 1e299, sizes, 0)
    tiny = sizes <= np.maximum(1e-13 * usual.max(axis=0, initial=0), 1e-290)
    power = np.floor(np.log10(np.where(tiny, 1, sizes))).astype(np.int64)
    digits = np.round(np.where(tiny, 0, finite) / 10.0 ** (power - DIGITS + 1)).astype(np.int64)
    over = np.abs(digits) >= 10**DIGITS
    return np.where(over, digits // 10, digits).astype("<i8"), (power + over).astype("<i8")
