"""The bars of a panel as text: a line for each row that has a name, from top to bottom."""

import math
import re
from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from course_utils.figures.drawn.rounded import amount, digest, number
from course_utils.figures.drawn.words import Words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SECONDS = {"seconds": 1, "milliseconds": 1e-3, "microseconds": 1e-6, "nanoseconds": 1e-9}
UNITS = dict(zip(("s", "ms", "µs", "ns"), SECONDS.values(), strict=True))
WRITTEN = re.compile(r"(?:≈\s?)?(-?\d[\d.,]*(?:e[-+]?\d+)?)\s?(\S*)")
MOST = 6  # parts of a row that are told one by one


@dataclass(frozen=True)
class Part:
    """A bar of a row, in the units of the axis."""

    name: str
    start: float
    length: float
    y: float

    @property
    def end(self) -> float:
        return self.start + self.length


def bars(axes: "Axes", words: Words, live: bool) -> list[str]:
    """A line for each named row; without names only how many bars there are, and a digest."""
    from matplotlib.container import BarContainer

    found = [group for group in axes.containers if isinstance(group, BarContainer)]
    names, boxes = row_names(axes), [box for group in found for box in group.patches]
    if not boxes:
        return []
    if not names or any(group.orientation != "horizontal" for group in found):
        shape = [[box.get_x(), box.get_y(), box.get_width(), box.get_height()] for box in boxes]
        return [f"{len(boxes)} bars{'' if live else ' ' + digest(shape)}"]
    rows: dict[int, list[Part]] = {place: [] for place in names}
    for group in found:
        for box in group.patches:
            name = words.name_of(group.get_label(), box.get_facecolor())
            part = Part(name, box.get_x(), box.get_width(), box.get_y() + box.get_height() / 2)
            rows.setdefault(round(part.y), []).append(part)
    down = sorted(rows, reverse=not axes.yaxis.get_inverted())
    unit = axes.get_xlabel()
    return [f"{names.get(place, '')}: {_row(rows[place], words, unit, live)}" for place in down]


def row_names(axes: "Axes") -> dict[int, str]:
    """The words at the y axis by their place; empty where it has numbers or nothing."""
    from matplotlib.ticker import FixedLocator

    if not axes.axison or not isinstance(axes.yaxis.get_major_locator(), FixedLocator):
        return {}
    texts = [label.get_text() for label in axes.get_yticklabels()]
    ticks = zip(axes.get_yticks(), texts, strict=False)
    return {round(place): " ".join(text.split()) for place, text in ticks} if any(texts) else {}


def _row(parts: list[Part], words: Words, unit: str, live: bool) -> str:
    total, end = sum(part.length for part in parts), max([0, *(part.end for part in parts)])
    if len(parts) > 1 and not live:
        parts = [p for p in parts if p.length and (p.name or abs(p.length) > 0.005 * abs(total))]
    if not parts:
        return "nothing"
    for part in filter(lambda part: part.length, parts):  # a number in its middle is its length
        middle = part.start + part.length / 2
        words.take(middle, part.y, partial(says, length=part.length, unit=unit))
    written = words.take(end, parts[0].y)
    right = says(written, total, unit)
    beside = "" if right or not written else f' "{written}"'
    if len(parts) == 1 and not parts[0].start and not parts[0].name:
        return written if right else f"{_amount(total, unit, live)}{beside}"
    return f"{_told(parts, unit, live)}{f' = {written}' if right else beside}"


def _told(parts: list[Part], unit: str, live: bool) -> str:
    names = [part.name for part in parts]
    if len(parts) > MOST and len(set(names)) < len(parts):
        counts = "; ".join(f"{name or 'bar'} × {n}" for name, n in sorted(Counter(names).items()))
        mark = digest(names, [[part.start, part.length] for part in parts])
        return counts if live else f"{counts}, to {number(max(part.end for part in parts))} {mark}"
    if live:
        ordered = sorted(parts, key=lambda part: part.name)
        return "; ".join(f"{part.name} {_amount(part.length, unit, live)}" for part in ordered)
    ordered = sorted(parts, key=lambda part: part.start)
    starts, ends = [part.start for part in ordered], [0, *(part.end for part in ordered)][:-1]
    if not any(starts) or np.allclose(starts, ends, atol=0.005 * abs(max(ends))):
        between = " + " if any(starts) else "; "
        return between.join(f"{part.name} {number(part.length)}".strip() for part in ordered)
    return "; ".join(f"{p.name} {number(p.start)} to {number(p.end)}" for p in ordered)


def _amount(length: float, unit: str, live: bool) -> str:
    """A live length has its unit with it: that varies too."""
    return amount(length, live) + (f" {unit}" if live and unit in SECONDS else "")


def says(text: str, length: float, unit: str) -> bool:
    """Whether a written amount is this length on an axis in `unit`, but for its rounding."""
    found = WRITTEN.fullmatch(text)
    if not found:
        return False
    value = float(found[1].replace(",", "").rstrip("."))
    if unit in SECONDS:
        value, length = value * UNITS.get(found[2], SECONDS[unit]), length * SECONDS[unit]
    return math.isclose(value, length, rel_tol=0.006)


def is_live_unit(axes: "Axes") -> bool:
    """Whether the x axis names a unit of time that fits its bars, so that it varies with them."""
    return bool(axes.containers) and axes.get_xlabel() in SECONDS
