"""Figures and tables of exact numbers, with one colour for each format."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from course_utils.chapters.floating_point_formats.formats import Format
from course_utils.core.evidence import Series
from course_utils.figures.compare import compare_lines
from course_utils.figures.style import Picture, format_colour, power_of_two
from course_utils.figures.tables import table

if TYPE_CHECKING:
    from IPython.display import HTML

MARKED = 40  # a line of fewer points marks each


def exact_lines(
    title: str,
    lines: Mapping[Any, Mapping[float, float]],
    x_label: str,
    y_label: str,
    *,
    predicted: tuple[str, Mapping[float, float]] | None = None,
    look: Mapping[str, Mapping[str, Any]] | None = None,
    **how: Any,
) -> Picture:
    """Lines of exact values by label or format.

    A label that begins with a format's name gives its line that format's colour; `look` adds to
    this. `predicted` is a label and a line from a formula, drawn dotted; `how` goes to
    compare_lines.
    """
    drawn: list[tuple[str, Any]] = []
    looks: dict[str, dict[str, Any]] = {}
    for label, line in lines.items():
        name = getattr(label, "name", str(label))
        drawn.append((name, Series.exact(dict(line))))
        colour = format_colour(name)
        looks[name] = {"color": colour} if colour else {}
        looks[name] |= {"marker": "o" if len(line) < MARKED else ""}
        looks[name] |= (look or {}).get(name, {})
    if predicted:
        drawn.append((predicted[0], Series.predicted(dict(predicted[1]))))
    return compare_lines(title, drawn, x_label=x_label, y_label=y_label, look=looks, **how)


def columns(title: str, values: Mapping[str, Any], digits: int = 6) -> "HTML":
    """A table from its columns, each a sequence of one length; numbers with so many digits."""
    rows = [dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)]
    written = [
        {name: x if isinstance(x, str) else f"{float(x):.{digits}g}" for name, x in row.items()}
        for row in rows
    ]
    return table(title, written)


def formats_table(formats: Sequence[Format]) -> "HTML":
    """Shows bits, precision with the hidden one, the largest value with its code, both smallest."""
    return table(
        "What each format can hold",
        [
            {
                "format": f.name,
                "bits": f.k,
                "precision (with the 1)": f.precision if np.isfinite(f.min_normal) else None,
                "largest": f"{f.max:,.5g}",
                "its bits": " ".join(part for part in f.bits(f.max) if part),
                "smallest normal": power_of_two(f.min_normal)
                if np.isfinite(f.min_normal)
                else None,
                "smallest": power_of_two(f.min_subnormal),
            }
            for f in formats
        ],
    )
