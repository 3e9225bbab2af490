"""Describes figures in lines of text, which their drawing functions write.

The text is the picture's alternative text, and nbval compares it between runs. What varies from run
to run has a ≈, and leaves out its machine and date. Where not everything is written out, a digest
stands for it; a notebook stores digests apart from the text that a reader sees.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from course_utils.core.measurement import format_seconds

# What a comparison of outputs takes for the same whatever it says: tests/sanitise.cfg has it.
MEASURED = re.compile(
    r"≈ ?(\[[^\]]*\]|[-+]?\d+([.,]\d+)*(e[-+]?\d+)?( ?([nµm]?s|[kMGT]?(B|FLOP/s))\b)?)"
)
DIGEST = re.compile(r" ?#[0-9a-f]{6}\b")
DIGITS = 3
MOST_POINTS, SOME_POINTS = 8, 7  # of a curve: all are told up to so many, else so many of them
MOST_BARS, MOST_RUNS = 6, 12  # of a row: each is told, or which come one after the other
LONGEST = 2000  # characters of a figure's text
SECONDS = ("seconds", "milliseconds", "microseconds", "nanoseconds")
SHORT = dict(zip(SECONDS, ("s", "ms", "µs", "ns"), strict=True))
Bar = tuple[str, float, float, str]  # label, start, end, what is written in it


def number(value: float) -> str:
    """Formats a number in three digits, or in full if whole: `0.0123`, `1024`, `2e+09`."""
    value = float(value)
    if abs(value) < 1e6 and abs(value - round(value)) <= 1e-6 * abs(value):
        return str(round(value))
    return f"{float(f'{value:.{DIGITS}g}'):g}"


def amount(value: float, live: bool) -> str:
    """Formats a number as `number` does, with ≈ if it is `live`."""
    return f"≈ {value:.{DIGITS}g}" if live else number(value)


def digest(*values: Any) -> str:
    """Six characters that depend on all values: numbers in three digits, or texts."""
    found = hashlib.sha256()
    for value in values:
        array = np.asarray(value)
        if array.dtype.kind == "f":
            sizes = np.abs(array.astype(float))
            noise = 1e-13 * sizes[np.isfinite(sizes)].max(initial=0)  # of adding, where 0 is meant
            told = [f"{x:.{DIGITS - 1}e}" for x in np.where(sizes > noise, array, 0.0).ravel()]
        else:
            told = list(map(str, array.ravel()))
        found.update("\0".join([str(array.shape), *told]).encode())
    return f"#{found.hexdigest()[:6]}"


def local(text: str) -> str:
    """Marks a text that differs between machines: shown to readers, ignored by comparisons."""
    return f"≈ [{text.replace('≈ ', '').replace('[', '(').replace(']', ')')}]"


def axes(x: str = "", y: str = "", log: str = "") -> str:
    """Describes the axes in one line: `x: bytes, logarithmic · y: seconds`."""
    said = [(name, label) for name, label in (("x", x), ("y", y)) if label]
    return " · ".join(f"{n}: {label}{', logarithmic' * (n in log)}" for n, label in said)


def origin(text: str) -> str:
    """The source of numbers in one line; for live ones without machine and date."""
    return "live" if text.partition(":")[0] == "live" else " ".join(text.split())


def curve(
    name: str,
    points: Mapping[float, float],
    live: bool = False,
    steps: bool = False,
    seconds: str = "",
) -> str:
    """Describes a curve in one line: its points by x, or some of them with the least and the most.

    With `steps` a value holds until the next x, and the points are those where it changes.
    `seconds` names the axes, "x", "y" or "xy", that are in seconds.
    """
    where = {x: _said(x, False, "x" in seconds) for x in points}
    told = {x: f"{where[x]} → {_said(y, live, 'y' in seconds)}" for x, y in points.items()}
    some = _changes(points) if steps else list(points)
    more = ""
    if len(some) > (2 * MOST_POINTS if steps else MOST_POINTS):
        ends = [pick(points, key=points.__getitem__) for pick in (min, max)]
        least, most = (
            f"{_said(points[x], live, 'y' in seconds)} at {_said(x, live, 'x' in seconds)}"
            for x in ends
        )
        count, last = len(some), len(some) - 1
        some = [some[round(k * last / (SOME_POINTS - 1))] for k in range(SOME_POINTS)]
        more = f"; least {least}, most {most}, of {count} {'steps' if steps else 'points'}"
    exact = [list(points)] if live else [list(points), list(points.values())]
    mark = digest(*exact) if len(points) > MOST_POINTS else ""
    return f"  {name or 'line'}: {'; '.join(told[x] for x in some)}{more} {mark}"


def _said(value: float, live: bool, is_seconds: bool) -> str:
    if not is_seconds:
        return amount(value, live)
    text = format_seconds(value)
    return text if live else text.removeprefix("≈ ")


def _changes(points: Mapping[float, float]) -> list[float]:
    """The first x of each stretch of equal values, and the last x."""
    xs, ys = list(points), list(points.values())
    return [x for k, x in enumerate(xs) if k in (0, len(xs) - 1) or ys[k] != ys[k - 1]]


def stack(name: str, parts: Mapping[str, float], total: str = "", live: bool = False) -> str:
    """Describes a stacked bar in one line: its parts that aren't 0, then `total`."""
    shown = {part: size for part, size in parts.items() if live or size}
    said = " + ".join(f"{part} {amount(size, live)}" for part, size in shown.items()) or "nothing"
    return f"  {name}: {said}{f' = {total}' if total else ''}"


def spans(name: str, bars: Sequence[Bar], unit: str = "", live: bool = False) -> str:
    """Describes a row of bars in one line: when each begins and ends, in order of their begin.

    For many bars: the sequence of labels (`F × 4, B, F`), or, where that is long or live, how many
    bars each label has and their total length; then when the row ends.
    """
    if not bars:
        return f"  {name}: nothing"
    bars = sorted(bars, key=lambda bar: bar[1:3])
    of = f" {SHORT.get(unit, unit)}" if live and unit else ""
    end = f"to {amount(max(end for _, _, end, _ in bars), live)}{of}"
    mark = "" if live else digest(*zip(*bars, strict=True))
    runs = [(label, len(list(group))) for label, group in groupby(label for label, *_ in bars)]
    if len(bars) <= MOST_BARS:
        said = "; ".join(
            f"{label}{f' {note}' * (note != label)}".rstrip()
            + f": {amount(start, live)} to {amount(stop, live)}{of}"
            for label, start, stop, note in bars
        )
    elif len(runs) <= MOST_RUNS and not live:
        said = ", ".join(label + (f" × {n}" if n > 1 else "") for label, n in runs) + f"; {end}"
    else:
        lengths: dict[str, list[float]] = {}
        for label, start, stop, _ in bars:
            lengths.setdefault(label, []).append(stop - start)
        each = (
            f"{label} × {len(found)}, together {amount(sum(found), live)}{of}"
            for label, found in lengths.items()
        )
        said = "; ".join([*each, end])
    return f"  {name}: {said} {mark}"


def settled(text: str) -> str:
    """The text without the numbers that vary between runs, for comparisons."""
    return MEASURED.sub("≈", text)


def text(lines: Iterable[str]) -> str:
    """As many lines as there is room for, and a digest of the rest."""
    whole = [line.rstrip() for line in lines if line.strip()]
    room, kept = LONGEST, 0
    while kept < len(whole) and (room := room - len(settled(whole[kept])) - 1) > 0:
        kept += 1
    rest = [settled(line) for line in whole[kept:]]
    many = "1 line more" if len(rest) == 1 else f"{len(rest)} lines more"
    return "\n".join(whole[:kept] + ([f"… {many} {digest(rest)}"] if rest else []))


def parted(text: str) -> tuple[str, str]:
    """Splits a text into the part for readers and the digests, for comparisons."""
    lines = DIGEST.sub("", text).splitlines()
    return "\n".join(map(str.rstrip, lines)), " ".join(map(str.strip, DIGEST.findall(text)))
