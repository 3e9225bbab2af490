"""How this chapter shows its experiments: rows with units, lines in the colours of formats."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from course_utils.core.evidence import Series
from course_utils.core.measurement import format_seconds
from course_utils.figures.style import format_colour

DASHES = ("-", "--", "-.", ":")
Rows = Sequence[Mapping[str, Any]]
SPREAD = ("_q1", "_q3", "_n", "_others")  # of a measurement, which a table leaves out
COLUMNS: dict[str, tuple[str, Callable[[float], str]]] = {  # in the file: (in a table, written)
    "relative_error": ("relative error", lambda x: f"{x:.2g}"),
    "seconds": ("time", lambda x: format_seconds(x).removeprefix("≈ ")),
    "tokens_per_s": ("tokens a second", lambda x: f"{x:,.0f}"),
    "peak_bytes": ("peak", lambda x: f"{x / 2**30:.3g} GiB"),
    "reserved_gib": ("reserved", lambda x: f"{x:.3g} GiB"),
}


def legible(evidence: Rows | Series | None) -> Any:
    """Returns the rows with COLUMNS written out: live ones with ≈, those of a series without."""
    if evidence is None:
        return None
    if isinstance(evidence, Series):
        return replace(evidence, rows=[_written(row, "") for row in evidence.rows])
    return [_written(row, "≈ ") for row in evidence]


def _written(row: Mapping[str, Any], about: str) -> dict[str, Any]:
    written: dict[str, Any] = {}
    for name, value in row.items():
        if name.endswith(SPREAD):
            continue
        title, write = COLUMNS.get(name, (name, None))
        written[title] = about + write(value) if write and value is not None else value
    return written


def by_format(labels: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Returns how `compare_lines` draws each label: the colour of the format that it names.

    Several labels of one format differ by their dashes.
    """
    seen: Counter[str | None] = Counter()
    looks: dict[str, dict[str, Any]] = {}
    for label in labels:
        colour = format_colour("E4M3" if label.startswith("FP8") else label)
        looks[label] = {"color": colour, "linestyle": DASHES[seen[colour] % len(DASHES)]}
        seen[colour] += 1
    return looks
