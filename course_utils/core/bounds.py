"""A value held against a bound: whether it keeps to it, by how much, and in which words."""

from dataclasses import dataclass
from typing import Any

from course_utils.core.measurement import Measurement, format_ratio, format_seconds


@dataclass(frozen=True)
class Bounded:
    """A number that has to lie above one bound, below another, or between both.

    `is_exact` says that it is no measurement: its digits are those of every run.
    """

    value: float
    above: float | None
    below: float | None
    is_exact: bool = False
    in_seconds: bool = False

    @classmethod
    def of(cls, found: Any, above: Any, below: Any, is_exact: bool = False) -> "Bounded":
        """From a number, numpy's and torch's too, or a Measurement; an int is exact by itself.

        Raises: TypeError for what is no number.
        """
        value, low, high = _number(found), above, below
        return cls(
            value,
            None if low is None else _number(low),
            None if high is None else _number(high),
            is_exact or isinstance(found, int),
            isinstance(found, Measurement) and found.unit == "seconds",
        )

    @property
    def holds(self) -> bool:
        """Strictly on the right side of each bound; NaN is on neither."""
        return (self.above is None or self.value > self.above) and (
            self.below is None or self.value < self.below
        )

    @property
    def margin(self) -> float | None:
        """How many times tighter the looser bound could be; None where no ratio says so.

        2 means that the claim would hold with twice the lower bound, or half the upper one.
        """
        ratios = []
        if self.above is not None and self.above > 0 and self.value > 0:
            ratios.append(self.value / self.above)
        if self.below is not None and self.below > 0 and self.value > 0:
            ratios.append(self.below / self.value)
        return max(ratios, default=None)

    def __str__(self) -> str:
        """`≈ 12 > 3, margin ≈ 4`, or what was wanted where it doesn't hold."""
        low = "" if self.above is None else self._write(self.above)
        high = "" if self.below is None else self._write(self.below)
        mark = "" if self.is_exact else "≈ "
        value = self._write(self.value)
        if value in (low, high):
            value = f"{self.value:.7g}"
        if not self.holds:
            wanted = " and ".join([f"> {low}"] * bool(low) + [f"< {high}"] * bool(high))
            return f"{mark}{value}, wanted {wanted}"
        before = f"{low} < " if low and high else ""
        after = f" < {high}" if high else f" > {low}"
        text = f"{before}{mark}{value}{after}"
        return text if self.margin is None else f"{text}, margin {mark}{self.margin:.3g}"

    def _write(self, value: float) -> str:
        if self.is_exact:
            return f"{value:,.4f}".rstrip("0").rstrip(".") if 1 <= value < 1e6 else f"{value:.4g}"
        return (format_seconds(value) if self.in_seconds else format_ratio(value))[2:]


def scalar(found: Any) -> Any:
    """A single number of numpy's or torch's as Python's own; anything else as it is."""
    try:
        return found.item()
    except (AttributeError, ValueError, RuntimeError):
        return found


def _number(found: Any) -> float:
    if isinstance(found, Measurement):
        return found.median
    plain = scalar(found)
    if isinstance(plain, bool) or not isinstance(plain, (int, float)):
        raise TypeError(f"a claim with a bound needs a number, not {found!r:.60}")
    return plain
