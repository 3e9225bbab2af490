"""The result of a measurement: repetitions, median and spread, and how they are printed."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

from snapshots_and_traces.units import seconds_text

OTHERS_BOUND = 0.3  # CPU cores that other programs may use in a quiet repetition


@dataclass(frozen=True)
class Measurement:
    """The values of the kept repetitions (seconds per call, or plain ratios).

    `offered` counts all repetitions, dropped ones included. `others` is how many CPU cores other
    programs used meanwhile (1.0 is one whole core), None if that couldn't be measured.
    """

    values: tuple[float, ...]
    offered: int
    others: float | None
    clock: str
    unit: str = "seconds"

    @property
    def n(self) -> int:
        return len(self.values)

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def q1(self) -> float:
        return quartiles(self.values)[0]

    @property
    def q3(self) -> float:
        return quartiles(self.values)[2]

    @property
    def guard(self) -> str:
        """Part of a sentence: the number of kept repetitions, and how busy others were."""
        if self.others is None:
            return "this system doesn't tell how busy other programs were"
        return f"kept ≈ {self.n} of ≈ {self.offered}, others took ≈ {self.others:.2f} cores"

    def per(self, count: int) -> "Measurement":
        """The measurement divided by `count`, if each repetition did `count` equal things."""
        return replace(self, values=tuple(value / count for value in self.values))

    def __str__(self) -> str:
        show = format_seconds if self.unit == "seconds" else format_ratio
        spread = f"half of them from {show(self.q1)} to {show(self.q3)}"
        return f"{show(self.median)} ({spread}; {self.guard})"

    __repr__ = __str__

    def __truediv__(self, other: "Measurement") -> "Ratio":
        """The ratio of the medians. Absolute times don't compare between machines; ratios can."""
        return Ratio(self.median / other.median, (self, other))


class Ratio(float):
    """The ratio of two measurements: a float with `others`, how busy other programs were."""

    others: float

    def __new__(cls, value: float, measured: "Sequence[Measurement]") -> "Ratio":
        made = super().__new__(cls, value)
        made.others = max(one.others or 0 for one in measured)
        return made

    def __reduce__(self) -> tuple[type[float], tuple[float]]:
        """Pickles as a plain float."""
        return float, (float(self),)


def format_seconds(seconds: "float | Measurement") -> str:
    """`≈ 12.3 ms`: three digits, in the unit that keeps them readable."""
    value = seconds.median if isinstance(seconds, Measurement) else seconds
    return f"≈ {seconds_text(value)}"


def format_ratio(ratio: "float | Measurement") -> str:
    """`≈ 1.23`: a measured number without a unit."""
    value = ratio.median if isinstance(ratio, Measurement) else ratio
    return f"≈ {value:,.0f}" if abs(value) >= 1000 else f"≈ {value:.3g}"


def quartiles(values: Sequence[float]) -> list[float]:
    """First quartile, median and third quartile; a single value is all three."""
    if len(values) < 2:
        return [values[0]] * 3
    return statistics.quantiles(values, n=4, method="inclusive")
