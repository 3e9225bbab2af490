"""A widget: the bits of a number to click, in any format, and what they mean."""

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from course_utils.chapters.floating_point_formats import formats
from course_utils.chapters.floating_point_formats.float_format import Bits, Format
from course_utils.chapters.floating_point_formats.numbers_as_text import (
    Number,
    decimal,
    exactly,
    fraction,
    nearest,
    nearest_float,
    parse,
)
from course_utils.figures.style import INK, Picture, one_panel, render, styled

HERE = Path(__file__).parent
FIELD_COLOURS = ("#CC79A7", "#E69F00", "#56B4E9")


class BitExplorer(anywidget.AnyWidget):
    """Bits to click or to flip from the keyboard, a box to type in, and what the number is.

    The page sends requests (`action`); every number is computed here, exactly, and goes back as
    text (`state`). A page without a kernel shows a picture of the first state.
    """

    _esm = HERE / "bit_explorer.js"
    _css = HERE / "bit_explorer.css"
    action = traitlets.Dict().tag(sync=True)
    state = traitlets.Dict().tag(sync=True)

    def __init__(self, value: str = "0.1", fmt: Format = formats.FP16, *own: Format) -> None:
        super().__init__()
        self.formats = {f.name: f for f in (*formats.ALL, *own, fmt)}
        self.fmt, self.other = fmt, formats.BF16
        self.do_type(value)
        self._tell("")
        self.observe(self._act, "action")

    def do_type(self, text: str) -> None:
        """Takes what was typed, exactly, and rounds it to the format."""
        self._take(self.fmt, parse(text))

    def do_flip(self, place: int) -> None:
        """Flips a bit, counted from the left."""
        self.code ^= 1 << (self.fmt.k - 1 - place)
        self.typed = exactly(float(self.fmt.decode(self.code)))

    def do_step(self, direction: int) -> None:
        """Goes to the next larger or smaller number of the format."""
        move = self.fmt.next_up if direction > 0 else self.fmt.next_down
        there = float(move(self.value))
        if math.isinf(there) and not self.fmt.has_infinity:
            raise ValueError(f"{self.fmt.name} has no number beyond {self.value:g}")
        self._take(self.fmt, exactly(there))

    def do_half(self, direction: int) -> None:
        """Goes half an ulp away: to the middle, where rounding must decide."""
        if not math.isfinite(self.value):
            raise ValueError("half an ulp needs a finite number")
        half = Fraction(float(self.fmt.ulp(self.value))) / 2
        self._take(self.fmt, Fraction(self.value) + direction * half)

    def do_choose(self, name: str) -> None:
        """Shows the number that was typed in another format."""
        self._take(self.formats[name], self.typed)

    def do_compare(self, name: str) -> None:
        """Chooses the format in the last row."""
        self.other = self.formats[name]

    @property
    def value(self) -> float:
        """What the bits stand for."""
        return float(self.fmt.decode(self.code))

    def _take(self, fmt: Format, number: Number) -> None:
        ends = not (fmt.has_infinity or fmt.has_nan)
        rounded = nearest(fmt, number, "saturate" if ends else "inf_or_nan")
        self.code, self.fmt, self.typed = int(fmt.encode(rounded)), fmt, number

    def _act(self, change: Any) -> None:
        request = change["new"]
        try:
            getattr(self, f"do_{request['do']}")(request["with"])
            self._tell("")
        except ValueError as problem:
            self._tell(str(problem))

    def _tell(self, problem: str) -> None:
        fields = self.fmt.fields(self.code)._asdict()
        self.state = {
            "fields": [[name, bits] for name, bits in fields.items() if bits],
            "format": self.fmt.name,
            "other": self.other.name,
            "formats": list(self.formats),
            "rows": describe(self.fmt, self.value, self.typed, self.other),
            "line": number_line(self.fmt, self.value, self.typed),
            "problem": problem,
        }

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        data, metadata = super()._repr_mimebundle_(**kwargs) or ({}, {})
        picture = draw_bits(self.fmt, self.fmt.fields(self.code), self.state["rows"])
        return data | picture.bundle(f"[widget] {picture.alt}"), metadata


def describe(fmt: Format, value: float, typed: Number, other: Format) -> list[list[str]]:
    """What is to be said of a number: rows of a label and a text."""
    ulp = float(fmt.ulp(value))
    rows = [["value", decimal(value)], ["as a fraction", fraction(exactly(value))]]
    if isinstance(typed, Fraction) and math.isfinite(value):
        error = Fraction(value) - typed
        ulps = f"{decimal(error)}  ({nearest_float(error / Fraction(ulp)):.3g} ulp)"
        rows += [["typed", decimal(typed)], ["error", ulps if error else "none"]]
    rows.append(["ulp", decimal(ulp)])
    if math.isfinite(value):
        low, high = float(fmt.next_down(value)), float(fmt.next_up(value))
        rows.append(["neighbours", f"{decimal(low)}  and  {decimal(high)}"])
    return [*rows, [f"in {other.name}", _elsewhere(value, other)]]


def _elsewhere(value: float, other: Format) -> str:
    try:
        there = float(other.round(value))
    except ValueError as problem:
        return str(problem)
    if there == value:
        return f"{decimal(there)}, nothing lost"
    if not math.isfinite(there):
        return str(there)
    return f"{decimal(there)}, off by {decimal(Fraction(there) - Fraction(value))}"


def number_line(fmt: Format, value: float, typed: Number) -> list[dict[str, Any]]:
    """Marks between the two neighbours: where each is from 0 to 1, its kind and its label."""
    low, high = float(fmt.next_down(value)), float(fmt.next_up(value))
    if not all(map(math.isfinite, (low, value, high))):
        return []
    start, width = Fraction(low), Fraction(high) - Fraction(low)
    values = ((low, "number"), (value, "here"), (high, "number"))
    marks = [(Fraction(x), kind, f"{x:.9g}") for x, kind in values]
    if isinstance(typed, Fraction) and typed != Fraction(value):
        marks.append((typed, "typed", "typed"))
    return [
        {"at": float((x - start) / width), "kind": kind, "label": label}
        for x, kind, label in marks
        if 0 <= x - start <= width
    ]


@styled
def draw_bits(fmt: Format, fields: Bits, rows: list[list[str]]) -> Picture:
    """The bits and the rows as a picture, for pages that run nothing."""
    title = f"{dict(rows)['value']} in {fmt.name}"
    figure, axes = one_panel(title, 1.6 + 0.3 * len(rows))
    axes.set_axis_off()
    bits = "".join(fields)
    colours = [c for part, c in zip(fields, FIELD_COLOURS, strict=True) for _ in part]
    for place, (bit, colour) in enumerate(zip(bits, colours, strict=True)):
        axes.text(
            (place + 0.5) / max(len(bits), 20), 1, bit, color=INK, family="monospace", va="top",
            ha="center", fontsize=14 if len(bits) < 33 else 9,
            bbox={"facecolor": colour, "edgecolor": "white", "pad": 2.5},
        )  # fmt: skip
    for number, (label, text) in enumerate(rows):
        height = 1 - (number + 1.6) / (len(rows) + 1.6)
        axes.text(0, height, label, color="#555555", fontsize=11)
        axes.text(0.2, height, text, fontsize=11)
    said = (f"  {label}: {text}" for label, text in rows)
    return render(figure, f"{title}: {' | '.join(filter(None, fields))}", said)
