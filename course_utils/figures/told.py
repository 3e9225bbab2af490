"""What a figure shows, in lines of text that its drawing function writes.

They stand under the picture's title, for readers without pictures, and so that comparing a page's
outputs compares what its figures show. What varies from run to run has its ≈ and no unit, stands in
an order that doesn't depend on it, and leaves its machine and its date out.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

# What a comparison of outputs takes for the same whatever its number: tests/sanitise.cfg has it.
MEASURED = re.compile(r"≈\s?[-+]?[\d.,]+(e[-+]?\d+)?\s?[\w%/µμ×]*")
DIGITS = 3
MOST_POINTS, MOST_BARS = 8, 6  # of a curve, and of a row, that are told one by one
LONGEST = 1400  # characters of a figure's text
Bar = tuple[str, float, float, str]  # label, start, end, what is written in it


def number(value: float) -> str:
    """A number in three digits, a whole one below a million in full: `0.0123`, `1024`, `2e+09`."""
    value = float(value)
    if abs(value) < 1e6 and abs(value - round(value)) <= 1e-6 * abs(value):
        return str(round(value))
    return f"{float(f'{value:.{DIGITS}g}'):g}"


def amount(value: float, live: bool) -> str:
    """A number as `number` writes it, after the mark of what varies from run to run if `live`."""
    return f"≈ {value:.{DIGITS}g}" if live else number(value)


def digest(*values: Any) -> str:
    """Six characters that differ when a number (in three digits) or a text among `values` does."""
    found = hashlib.sha256()
    for value in values:
        array = np.asarray(value)
        if array.dtype.kind in "biuf":
            sizes = np.abs(array.astype(float))
            noise = 1e-13 * sizes[np.isfinite(sizes)].max(initial=0)  # of adding, where 0 is meant
            told = [f"{x:.{DIGITS - 1}e}" for x in np.where(sizes > noise, array, 0.0).ravel()]
        else:
            told = list(map(str, array.ravel()))
        found.update("\0".join([str(array.shape), *told]).encode())
    return f"#{found.hexdigest()[:6]}"


def axes(x: str = "", y: str = "", log: str = "") -> str:
    """A line of what the axes are: `x: bytes, logarithmic · y: seconds`."""
    said = [(name, label) for name, label in (("x", x), ("y", y)) if label]
    return " · ".join(f"{n}: {label}{', logarithmic' * (n in log)}" for n, label in said)


def origin(text: str) -> str:
    """Where numbers are from, on one line; live ones without their machine and date."""
    return "live" if text.partition(":")[0] == "live" else " ".join(text.split())


def curve(name: str, points: Mapping[float, float], live: bool = False, note: str = "") -> str:
    """A line of a curve, by x: its points, or where there are many its ends, reach and digest."""
    xs, ys = list(points), list(points.values())
    if len(xs) <= MOST_POINTS:
        said = "; ".join(_point(x, y, live) for x, y in points.items())
    else:
        ends = (f"({_point(xs[k], ys[k], live)})" for k in (0, -1))
        mark = digest(xs) if live else digest(xs, ys)
        reach = f"{amount(min(ys), live)} to {amount(max(ys), live)}"
        said = f"{len(xs)} points from {' to '.join(ends)}, y {reach} {mark}"
    return f"  {name or 'line'}: {said}{f' ({note})' if note else ''}"


def _point(x: float, y: float, live: bool) -> str:
    return f"{number(x)} → {amount(y, live)}"


def stack(name: str, parts: Mapping[str, float], total: str = "", live: bool = False) -> str:
    """A line of a bar's parts side by side, and `total` at its end; exact ones that can be seen."""
    least = 0 if live else 0.003 * sum(map(abs, parts.values()))
    shown = {part: size for part, size in parts.items() if live or abs(size) > least}
    said = " + ".join(f"{part} {amount(size, live)}" for part, size in shown.items()) or "nothing"
    return f"  {name}: {said}{f' = {total}' if total else ''}"


def spans(name: str, bars: Sequence[Bar], unit: str, live: bool = False) -> str:
    """A line of a row's bars: each; of many, or live ones, how many and how long, by label."""
    if not bars:
        return f"  {name}: nothing"
    if not live and len(bars) <= MOST_BARS:
        few = (f"{label} {number(a)} to {number(b)} {note}".rstrip() for label, a, b, note in bars)
        return f"  {name}: {'; '.join(few)}"
    lengths: dict[str, list[float]] = {}
    for label, start, end, _ in bars:
        lengths.setdefault(label, []).append(end - start)
    each = [
        f"{label} × {len(found)}, {amount(sum(found), live)} {unit}".rstrip()
        for label, found in sorted(lengths.items())
    ]
    if not live:
        mark = digest(*zip(*bars, strict=True))
        each.append(f"to {number(max(end for _, _, end, _ in bars))} {mark}")
    return f"  {name}: {'; '.join(each)}"


def settled(text: str) -> str:
    """The text without the numbers that vary, as comparisons see it."""
    return MEASURED.sub("≈", text)


def text(lines: Iterable[str]) -> str:
    """The lines that there is room for, and of the others a digest."""
    whole = [line.rstrip() for line in lines if line.strip()]
    room, kept = LONGEST, 0
    while kept < len(whole) and (room := room - len(settled(whole[kept])) - 1) > 0:
        kept += 1
    rest = [settled(line) for line in whole[kept:]]
    return "\n".join(whole[:kept] + ([f"… {len(rest)} lines more {digest(rest)}"] if rest else []))
