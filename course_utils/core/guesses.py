"""The reader's guesses before the run: a number, a range, one or several names."""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from course_utils.core.measurement import Measurement, format_seconds

SECONDS = {"s": 1.0, "ms": 1e-3, "µs": 1e-6, "us": 1e-6, "ns": 1e-9}
BYTES = {"KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30, "kB": 1e3, "MB": 1e6, "GB": 1e9}
SCALES = SECONDS | BYTES | {"%": 0.01}  # to seconds, bytes, shares
HOW = "write a number, such as 2.7, 1/3 or 1e6, or a range, such as (2, 5)"
TO = r"\s+to\s+|\s*–\s*|,\s+|(?<=\d)\s*-\s*(?=[\d.])"  # in a range that was typed
THOUSANDS = re.compile(r"[-+]?\d{1,3}(,\d{3})+(\.\d*)?")
_made: dict[str, "Guess"] = {}


class GuessError(ValueError):
    """The text or value can't be read as a guess; the message says how to write one."""


@dataclass(frozen=True)
class Guess:
    """The reader's answer to one question of the page.

    `low` and `high` are in `unit`, and equal if the guess is one number. For a question with names
    to choose from (`among`), `named` has the chosen ones.
    """

    id: str
    unit: str = ""
    low: float = math.nan
    high: float = math.nan
    among: tuple[str, ...] = ()
    named: frozenset[str] = frozenset()

    def __str__(self) -> str:
        if self.among:
            return ", ".join(name for name in self.among if name in self.named)
        low, high = short(self.low), short(self.high)
        if self.low == self.high == 1:
            return f"1 {_singular(self.unit)}".strip()
        number = low if self.low == self.high else f"{low} to {high}"
        return f"{number} {self.unit}".strip()

    def ends(self, unit: str = "") -> tuple[float, float]:
        """Returns both ends in seconds, bytes or shares; as written for an axis in their unit."""
        alike = self.unit and unit.partition(" ")[0].rstrip(",") == self.unit
        scale = 1.0 if alike else SCALES.get(self.unit, 1.0)
        return self.low * scale, self.high * scale


def make(id: str, wanted: Any, unit: str, among: Sequence[str]) -> Guess | None:
    """Makes a guess and keeps it for this page's figures; returns None for an empty box.

    Raises: GuessError, with how to write one.
    """
    _made.pop(id, None)
    if not isinstance(unit, str):
        raise GuessError(f"a range is one argument: ({wanted}, {unit}), and then the unit")
    if _is_empty(wanted):
        return None
    if among:
        guess = Guess(id, unit, among=tuple(among), named=_named(wanted, among))
    else:
        guess = Guess(id, unit, *_ends(wanted, unit))
    _made[id] = guess
    return guess


def of(id: str) -> Guess | None:
    """Returns the guess at a question; None if the reader made none."""
    return _made.get(id)


def truth_in(unit: str, found: Any) -> float:
    """Converts a found number, of seconds, bytes or a share, to the unit of its question."""
    value = found.median if isinstance(found, Measurement) else float(found)
    return value / SCALES.get(unit, 1.0)


def written(unit: str, found: Any, exact: bool = False) -> str:
    """Formats a found number, with ≈ unless it is `exact` or a whole count."""
    if unit in SECONDS and not exact:
        return format_seconds(found)
    is_measured = (
        hasattr(found, "others") or unit in {*BYTES, "bytes"} or not float(found).is_integer()
    )
    mark = "≈ " if is_measured and not exact else ""
    number = short(truth_in(unit, found))
    return f"{mark}{number} {_singular(unit) if number == '1' and not mark else unit}".strip()


def short(value: float) -> str:
    """Formats a number with three digits, and commas between thousands."""
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e12 else f"{value:.3g}"


def _is_empty(wanted: Any) -> bool:
    """True for a value that nobody filled in: in the cell, in the box, in a list of names."""
    if isinstance(wanted, str):
        return not wanted.strip()
    return wanted is None or wanted is ... or (isinstance(wanted, (tuple, list)) and not wanted)


def _named(wanted: Any, among: Sequence[str]) -> frozenset[str]:
    several = isinstance(wanted, Iterable) and not isinstance(wanted, str)
    known = {name.casefold(): name for name in among}
    if isinstance(wanted, str) and wanted.strip().casefold() not in known:
        names = [name.strip() for name in wanted.split(",")]
    else:
        names = list(wanted) if several else [wanted.strip() if isinstance(wanted, str) else wanted]
    unknown = [name for name in names if str(name).casefold() not in known]
    if unknown:
        raise GuessError(f"{unknown[0]!r} isn't among the answers: {', '.join(among)}")
    return frozenset(known[str(name).casefold()] for name in names)


def _ends(wanted: Any, unit: str) -> tuple[float, float]:
    """Reads a number, a pair, or a typed text: `2.7`, `1/3`, `1e6`, `2 to 5`, `3 µs`."""
    scale = 1.0
    if isinstance(wanted, str):
        text, scale = _without_unit(wanted.strip().strip("()[]"), unit)
        parts = re.split(TO, text)
    else:
        parts = list(wanted) if isinstance(wanted, (tuple, list)) else [wanted]
    try:
        numbers = [scale * _number(part) for part in parts]
    except (TypeError, ValueError, ZeroDivisionError, OverflowError):
        numbers = []
    if len(numbers) not in (1, 2) or not all(map(math.isfinite, numbers)):
        where = f", in {unit}" if unit else ""
        other = re.fullmatch(r"[^A-Za-zµ%]*\d\s*([A-Za-zµ%].*)", str(wanted).strip())
        if other and isinstance(wanted, str):
            asked = f"is in {unit}, not" if unit else "has no unit, so not"
            raise GuessError(f"this question {asked} in {other[1]:.20}: {HOW}{where}")
        raise GuessError(f"{wanted!r:.40} isn't a guess that can be read: {HOW}{where}")
    return min(numbers), max(numbers)


def _without_unit(text: str, unit: str) -> tuple[str, float]:
    """Splits off a unit; returns the text before it, and its size in the question's unit."""
    family = next((units for units in (SECONDS, BYTES) if unit in units), {unit: 1.0})
    for other in sorted({*family, _singular(unit)} - {""}, key=len, reverse=True):
        if text.endswith(other):
            return text.removesuffix(other), family.get(other, 1.0) / family[unit]
    return text, 1.0


def _singular(unit: str) -> str:
    """Returns `time` for `times`; a unit such as `ms` or `GB/s` has no plural."""
    return unit.removesuffix("s") if len(unit) > 3 and "/" not in unit else unit


def _number(part: Any) -> float:
    """Reads a number or a fraction.

    Raises: TypeError, ValueError, ZeroDivisionError or OverflowError for anything else.
    """
    if isinstance(part, bool):
        raise TypeError
    if isinstance(part, str):
        above, _, below = part.partition("/")
        return _plain(above) / _plain(below or "1")
    return float(part)


def _plain(text: str) -> float:
    """Reads a number, commas between thousands included. Raises: ValueError, for `024` too."""
    text = text.strip()
    if re.match(r"[-+]?0\d", text):
        raise ValueError(text)
    return float(text.replace(",", "") if THOUSANDS.fullmatch(text) else text)
