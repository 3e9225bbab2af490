"""A table of live rows with recorded and published rows below, and their sources."""

import html
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from course_utils.core.evidence import Series
from course_utils.core.measurement import Measurement, format_ratio, format_seconds
from course_utils.figures.style import COLOURS

if TYPE_CHECKING:
    from IPython.display import HTML

LEFT = "text-align:left"


def table(title: str, rows: Sequence[Mapping[str, Any]], *elsewhere: Series | None) -> "HTML":
    """Shows live rows as a table whose columns are the first row's keys; other evidence comes
    below.

    A Measurement shows its median with ≈, a missing value a dash. Columns whose name ends in
    `seconds` are written with a unit. Recorded columns that live rows lack are left out. Without
    any row, the table says so.
    """
    from IPython.display import HTML

    found = next((r for r in (rows, *(e.rows for e in elsewhere if e is not None)) if r), [])
    columns = list(found[0]) if found else ["neither measured here nor recorded yet"]
    body = "".join(_row([_cell(row.get(c)) for c in columns]) for row in rows)
    for source in elsewhere:
        if source is not None:
            body += _origin(source, len(columns))
            lines = [[_recorded(c, row.get(c)) for c in columns] for row in source.rows]
            body += "".join(_row(line) for line in lines)
    head = "".join(f"<th style='{LEFT}'>{html.escape(c)}</th>" for c in columns)
    caption = f"<caption style='{LEFT}'><b>{html.escape(title)}</b></caption>"
    return HTML(f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")


def _row(cells: list[str]) -> str:
    return f"<tr>{''.join(f'<td style={LEFT!r}>{html.escape(c)}</td>' for c in cells)}</tr>"


def _origin(source: Series, width: int) -> str:
    style = f"{LEFT};color:{COLOURS[source.kind]}"
    return f"<tr><td colspan={width} style='{style}'>{html.escape(source.provenance)}</td></tr>"


def _cell(value: Any) -> str:
    if isinstance(value, Measurement):
        return format_seconds(value) if value.unit == "seconds" else format_ratio(value)
    return "–" if value is None else str(value)


def _recorded(column: str, value: Any) -> str:
    if value is not None and column.endswith("seconds"):
        return format_seconds(value).removeprefix("≈ ")
    return _cell(value)
