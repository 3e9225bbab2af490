"""A widget: the bits of a number to click, in any format, and what they mean."""

import math
import re
from decimal import Context, Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from course_utils.chapters.floating_point_formats import formats
from course_utils.chapters.floating_point_formats.float_format import Bits, Format
from course_utils.figures.style import INK, Picture, one_panel, render, styled

# ---- Exact numbers: reading those that are typed, and writing those that a format holds.

LONGEST, LARGEST_EXPONENT = 120, 400
ALL_DIGITS, DIGITS = 120, 40
EXAMPLES = "a number such as 0.1, -3e-5, 1/3, nan or -inf"
Number = Fraction | float  # a float only where a Fraction can't: NaN, infinities, −0


def parse(text: str) -> Number:
    """The number that was typed, exactly: `0.1` is one tenth, not the float64 next to it.

    Raises: ValueError, with what is allowed, for text that isn't a number or is out of reach.
    """
    text = text.strip().replace("−", "-").replace("_", "")
    if not text or len(text) > LONGEST:
        raise ValueError(f"type {EXAMPLES}, in at most {LONGEST} characters")
    if re.fullmatch(r"[-+]?(nan|inf(inity)?)", text, re.IGNORECASE):
        return float(text)
    exponent = re.search(r"e([-+]?\d+)$", text, re.IGNORECASE)
    if exponent and abs(int(exponent[1])) > LARGEST_EXPONENT:
        raise ValueError(f"exponents go from -{LARGEST_EXPONENT} to {LARGEST_EXPONENT} here")
    try:
        number = Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"{text!r} is no number: type {EXAMPLES}") from None
    return -0.0 if number == 0 and text.startswith("-") else number


def exactly(number: float) -> Number:
    """A float as a Fraction; what no Fraction is (NaN, infinities, −0) stays a float."""
    plain = math.isfinite(number) and not (number == 0 and math.copysign(1, number) < 0)
    return Fraction(number) if plain else number


def nearest(fmt: Format, number: Number) -> float:
    """The value of the format for an exact number: rounded once, to nearest, ties to even.

    Through float64 by rounding to odd, which keeps a later rounding right (Boldo and
    Melquiond 2008). Raises: those of `Format.round`.
    """
    close = nearest_float(number)
    if math.isfinite(close) and Fraction(close) != number and not _is_odd(close):
        close = math.nextafter(close, math.inf if number > Fraction(close) else -math.inf)
    return float(fmt.round(close))


def nearest_float(number: Number) -> float:
    """The float64 nearest to a number; beyond the largest, infinity."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _is_odd(number: float) -> bool:
    return int(Fraction(number) / Fraction(math.ulp(number))) % 2 == 1


def decimal(number: Number) -> str:
    """All decimal digits where they end within ALL_DIGITS, else the first DIGITS and `…`."""
    number = exactly(number) if isinstance(number, float) else number
    if isinstance(number, float):
        return str(number)
    context = Context(prec=2000)
    digits = context.divide(Decimal(number.numerator), Decimal(number.denominator))
    whole = Context(prec=ALL_DIGITS).plus(digits)
    exact = Fraction(whole) == number
    shown = (whole if exact else Context(prec=DIGITS).plus(digits)).normalize(context)
    short = shown == 0 or -12 <= shown.adjusted() <= 20
    return (f"{shown:f}" if short else f"{shown:g}") + ("" if exact else "…")


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
    code: int
    typed: Number

    def __init__(self, value: str = "0.1", fmt: Format = formats.FP16) -> None:
        super().__init__()
        self.formats = {f.name: f for f in formats.ALL}
        self.fmt = fmt
        self.do_type(value)
        self._tell("")
        self.observe(self._act, "action")

    def do_type(self, text: str) -> None:
        """Takes what was typed, exactly, and rounds it to the format."""
        self._take(self.fmt, parse(text))

    def do_flip(self, place: int) -> None:
        """Flips a bit, counted from the left."""
        self.code ^= 1 << (self.fmt.k - 1 - place)
        self.typed = exactly(self.fmt.decode(self.code))

    def do_step(self, direction: int) -> None:
        """Goes to the next larger or smaller number of the format."""
        there = self.fmt.neighbour(self.code, direction)
        if there is None:
            raise ValueError(f"{self.fmt.name} has no number beyond {self.value:g}")
        self.code, self.typed = there, exactly(self.fmt.decode(there))

    def do_choose(self, name: str) -> None:
        """Shows the number that was typed in another format."""
        self._take(self.formats[name], self.typed)

    @property
    def value(self) -> float:
        """The value of the bits."""
        return self.fmt.decode(self.code)

    def _take(self, fmt: Format, number: Number) -> None:
        self.code, self.fmt, self.typed = fmt.encode(nearest(fmt, number)), fmt, number

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
            "formats": list(self.formats),
            "rows": describe(self.fmt, self.code, self.typed),
            "problem": problem,
        }

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        data, metadata = super()._repr_mimebundle_(**kwargs) or ({}, {})
        picture = draw_bits(self.fmt, self.fmt.fields(self.code), self.state["rows"])
        return data | picture.bundle(f"[widget] {picture.alt}"), metadata


def describe(fmt: Format, code: int, typed: Number) -> list[list[str]]:
    """Rows of a label and a text about the number that a code stands for."""
    value = fmt.decode(code)
    ulp = float(fmt.ulp(value))
    rows = [["value", decimal(value)]]
    if math.isfinite(value) and not fmt.info.is_all_subnormal:
        rows.append(["by the fields", _formula(fmt, fmt.fields(code))])
    if isinstance(typed, Fraction) and math.isfinite(value):
        error = Fraction(value) - typed
        ulps = f"{decimal(error)}  ({nearest_float(error / Fraction(ulp)):.3g} ulp)"
        rows += [["typed", decimal(typed)], ["error", ulps if error else "none"]]
    rows.append(["ulp", decimal(ulp)])
    if math.isfinite(value):
        beside = (fmt.neighbour(code, direction) for direction in (-1, 1))
        words = ("none" if one is None else decimal(fmt.decode(one)) for one in beside)
        rows.append(["neighbours", "  and  ".join(words)])
    return rows


def _formula(fmt: Format, bits: Bits) -> str:
    """`2^(11 − 15) × (1 + 614/1024)`: exponent, bias, hidden bit and fraction of a code."""
    exponent, steps = int(bits.exponent, 2), 2 ** len(bits.fraction)
    hidden = int(exponent > 0)
    power = f"2^({max(exponent, hidden ^ 1)} − {fmt.info.bias})"
    minus = "−" if bits.sign == "1" else ""
    stored = int(bits.fraction or "0", 2)
    return f"{minus}{power} × ({hidden} + {stored}/{steps})"


@styled
def draw_bits(fmt: Format, fields: Bits, rows: list[list[str]]) -> Picture:
    """The bits, named by field, and the rows as a picture, for pages that run nothing."""
    title = f"{dict(rows)['value']} in {fmt.name}"
    figure, axes = one_panel(title, 2 + 0.3 * len(rows))
    axes.set_axis_off()
    width, place = max(len("".join(fields)), 20), 0
    for name, bits, colour in zip(Bits._fields, fields, FIELD_COLOURS, strict=True):
        if bits:
            middle = (place + len(bits) / 2) / width
            axes.text(middle, 1, name, ha="center", va="bottom", fontsize=10)
        for bit in bits:
            axes.text(
                (place + 0.5) / width, 0.97, bit, color=INK, family="monospace", va="top",
                ha="center", fontsize=14 if width < 33 else 9,
                bbox={"facecolor": colour, "edgecolor": "white", "pad": 2.5},
            )  # fmt: skip
            place += 1
    for number, (label, text) in enumerate(rows):
        height = 0.97 - (number + 1.6) / (len(rows) + 1.6)
        axes.text(0, height, label, color="#555555", fontsize=11)
        axes.text(0.2, height, text, fontsize=11)
    said = (f"  {label}: {text}" for label, text in rows)
    return render(figure, f"{title}: {' | '.join(filter(None, fields))}", said)
