"""The course's figures and tables: live beside recorded beside published, each with its origin."""

import io
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from course_utils.evidence import Published, Recording
from course_utils.machine import this_machine
from course_utils.timing import Measurement, format_seconds

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colour-blind safe palette; the first two mean live and recorded in every chapter.
COLOURS = {"live": "#0072B2", "recorded": "#D55E00", "published": "#6B6B6B"}
MARKS = {"live": "o", "recorded": "s", "published": "D"}
KINDS = ("#009E73", "#E69F00", "#56B4E9", "#CC79A7", "#BBBBBB", "#F0E442")
INK = "#222222"
STYLE: dict[Any, Any] = {
    "font.size": 12,
    "axes.titlesize": 12,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#999999",
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "grid.color": "#E3E3E3",
    "lines.linewidth": 2.2,
    "lines.markersize": 7,
}
WIDTH_INCHES, DPI = 8, 100
P = ParamSpec("P")
T = TypeVar("T")


def styled(drawing: Callable[P, T]) -> Callable[P, T]:
    """Draws in the course's style, and leaves the reader's own matplotlib settings alone."""

    @wraps(drawing)
    def in_style(*args: P.args, **kwargs: P.kwargs) -> T:
        import matplotlib as mpl

        with mpl.rc_context(STYLE):
            return drawing(*args, **kwargs)

    return in_style


class Picture:
    """A PNG that shows itself in a notebook, with its message as text for those who can't see."""

    def __init__(self, png: bytes, alt: str) -> None:
        self.png, self.alt = png, alt

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return {"image/png": self.png, "text/plain": repr(self)}

    def __repr__(self) -> str:
        return f"[figure] {self.alt}"


@dataclass(frozen=True)
class Series:
    """Values under their labels, the kind of evidence they are, and where they are from."""

    values: Mapping[Any, float]
    kind: str
    provenance: str

    @classmethod
    def of(cls, values: "Mapping[Any, float | Measurement] | Series") -> "Series":
        """Plain values are live: measured here, now."""
        if isinstance(values, Series):
            return values
        plain = {k: v.median if isinstance(v, Measurement) else float(v) for k, v in values.items()}
        today = datetime.now(UTC).date()
        torch = this_machine().versions["torch"]
        return cls(plain, "live", f"live: {this_machine().title}, torch {torch}, {today}")


def series(
    source: Recording | Published | None, label: str, value: str, **where: Any
) -> Series | None:
    """Two columns of recorded or published rows as a Series; None where there is no source."""
    if source is None:
        return None
    rows = [row for row in source.rows if all(row.get(k) == v for k, v in where.items())]
    kind = "recorded" if isinstance(source, Recording) else "published"
    return Series({row[label]: row[value] for row in rows}, kind, source.provenance)


@styled
def compare_bars(
    title: str,
    live: Mapping[Any, float | Measurement] | Series,
    *others: Series | None,
    unit: str = "seconds",
    predicted: float | None = None,
) -> Picture:
    """Horizontal bars, a panel for each kind of evidence, each on its own axis from zero.

    `unit` is "seconds" or words for the axis. `predicted`, in the same unit, is a line in the
    live panel. Evidence that doesn't exist (None) takes no place.
    """
    shown = [Series.of(live), *(s for s in others if s is not None)]
    heights = [len(s.values) + 1.6 for s in shown]
    figure = new_figure(title, 0.9 + 0.36 * sum(heights))
    panels = figure.subplots(len(shown), 1, gridspec_kw={"height_ratios": heights}, squeeze=False)
    for axes, one in zip(panels[:, 0], shown, strict=True):
        _bars(axes, one, unit, predicted if one.kind == "live" else None)
    return render(figure, title)


@styled
def compare_lines(
    title: str,
    lines: Sequence[tuple[str, Mapping[Any, float | Measurement] | Series | None]],
    *,
    x_label: str,
    y_label: str,
    log: str = "",
) -> Picture:
    """Lines over a numeric x with a label at each line's end; `log` names axes: "x", "y", "xy".

    A line is (its label, its values); live ones are solid with discs, recorded ones dashed with
    squares, published ones dotted with diamonds. Predictions come as a Series of kind "predicted".
    """
    figure = new_figure(title, 4.6)
    axes = figure.subplots()
    ends: list[tuple[float, float, str, str]] = []
    for label, values in lines:
        if values is not None:
            ends.append(_line(axes, label, Series.of(values)))
    for axis in log:
        getattr(axes, f"set_{axis}scale")("log", base=2 if axis == "x" else 10)
        getattr(axes, f"{axis}axis").set_major_formatter("{x:g}")
        getattr(axes, f"{axis}axis").set_minor_formatter("")
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.grid(True)
    _label_ends(axes, ends, "y" in log)
    found = {Series.of(v).provenance for _, v in lines if v is not None} - {""}
    figure.supxlabel("\n".join(sorted(found)), fontsize=9, color="#555555", x=0.01, ha="left")
    return render(figure, title)


def render(figure: "Figure", alt: str) -> Picture:
    """The figure as a Picture, in few colours so that a notebook stays small."""
    from PIL import Image

    raw, small = io.BytesIO(), io.BytesIO()
    figure.savefig(raw, format="png", dpi=DPI)
    Image.open(raw).convert("RGB").quantize(96).save(small, format="png", optimize=True)
    return Picture(small.getvalue(), alt)


def table(
    title: str, rows: Sequence[Mapping[str, Any]], *sources: Series | Recording | Published | None
) -> Any:
    """Rows as a table, its columns the first row's keys, with where they are from under it."""
    from IPython.display import HTML

    cells = [[_cell(value) for value in row.values()] for row in rows]
    head = "".join(f"<th style='text-align:left'>{_escape(column)}</th>" for column in rows[0])
    body = "".join(
        "<tr>" + "".join(f"<td style='text-align:left'>{_escape(c)}</td>" for c in line) + "</tr>"
        for line in cells
    )
    under = "<br>".join(_escape(s.provenance) for s in sources if s is not None)
    return HTML(
        f"<table><caption style='text-align:left'><b>{_escape(title)}</b></caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><small>{under}</small>"
    )


def new_figure(title: str, height_inches: float) -> "Figure":
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH_INCHES, height_inches), layout="constrained")
    figure.suptitle(title, x=0.01, ha="left", fontsize=14, fontweight="bold", wrap=True)
    return figure


def _bars(axes: "Axes", one: Series, unit: str, predicted: float | None) -> None:
    values = list(one.values.values())
    largest = max([*values, predicted or 0])
    scale, unit_name = axis_unit(largest, unit)
    scaled = [v / scale for v in values]
    axes.barh(range(len(values)), scaled, color=COLOURS[one.kind], height=0.7)
    for place, (value, length) in enumerate(zip(values, scaled, strict=True)):
        axes.annotate(
            _amount(value, unit, one.kind), (length, place), (5, 0), textcoords="offset points",
            va="center",
        )  # fmt: skip
    axes.set_yticks(range(len(values)), [str(label) for label in one.values])
    axes.invert_yaxis()
    axes.tick_params(axis="y", length=0)
    axes.set_xlim(0, largest / scale * 1.22 or 1)
    axes.set_xlabel(unit_name)
    axes.set_title(one.provenance, loc="left", color=COLOURS[one.kind], fontsize=10.5)
    if predicted is not None:
        axes.axvline(predicted / scale, color=INK, linestyle="--", linewidth=1.5)
        axes.annotate(
            "predicted", (predicted / scale, 1), (4, -2), xycoords=("data", "axes fraction"),
            textcoords="offset points", va="top", fontsize=10,
        )  # fmt: skip


def _line(axes: "Axes", label: str, one: Series) -> tuple[float, float, str, str]:
    colour = COLOURS.get(one.kind, INK)
    style = {"live": "-", "recorded": "--", "published": ":"}.get(one.kind, (0, (1, 1.5)))
    x, y = list(one.values), list(one.values.values())
    axes.plot(x, y, color=colour, linestyle=style, marker=MARKS.get(one.kind, ""))
    return x[-1], y[-1], label, colour


def _label_ends(axes: "Axes", ends: list[tuple[float, float, str, str]], log: bool) -> None:
    """Labels at the right of the lines, moved apart where they would touch."""
    low, high = axes.get_ylim()
    place = (lambda y: math.log(max(y, 1e-30))) if log else (lambda y: y)
    span = place(high) - place(low)
    last = -math.inf
    for x, y, label, colour in sorted(ends, key=lambda end: end[1]):
        wanted = (place(y) - place(low)) / span
        at = max(wanted, last + 0.075)
        last = at
        axes.annotate(
            label, (x, y), (1.015, at), textcoords="axes fraction", color=colour, va="center",
            annotation_clip=False,
        )  # fmt: skip


def axis_unit(largest: float, unit: str) -> tuple[float, str]:
    if unit != "seconds":
        return 1, unit
    for scale, name in ((1, "seconds"), (1e-3, "milliseconds"), (1e-6, "microseconds")):
        if largest >= scale:
            return scale, name
    return 1e-9, "nanoseconds"


def _amount(value: float, unit: str, kind: str) -> str:
    text = format_seconds(value) if unit == "seconds" else f"≈ {value:.3g}"
    return text if kind == "live" else text.removeprefix("≈ ")


def _cell(value: Any) -> str:
    if isinstance(value, Measurement):
        return format_seconds(value.median)
    return "" if value is None else str(value)


def _escape(text: Any) -> str:
    import html

    return html.escape(str(text))
