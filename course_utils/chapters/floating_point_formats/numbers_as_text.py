"""Numbers as text, exactly: what somebody types is read, and what a format holds is written."""

import math
import re
from decimal import Context, Decimal
from fractions import Fraction

from course_utils.chapters.floating_point_formats.float_format import Format

LONGEST, LARGEST_EXPONENT, LARGEST_BINARY_EXPONENT = 120, 400, 1400
HEXADECIMAL = re.compile(
    r"(?P<sign>[-+]?)0x(?P<whole>[0-9a-f]*)(\.(?P<behind>[0-9a-f]*))?(p(?P<power>[-+]?\d+))?",
    re.IGNORECASE,
)
ALL_DIGITS, DIGITS = 120, 40
EXAMPLES = "a number such as 0.1, -3e-5, 1/3, 0x1.8p3, nan or -inf"
Number = Fraction | float  # a float only where a Fraction can't: NaN, infinities, −0


def parse(text: str) -> Number:
    """What was typed, exactly: `0.1` is one tenth, not the float64 next to it.

    Raises: ValueError, with what is allowed, for text that isn't a number or is out of reach.
    """
    text = text.strip().replace("−", "-").replace("_", "")
    if not text or len(text) > LONGEST:
        raise ValueError(f"type {EXAMPLES}, in at most {LONGEST} characters")
    if re.fullmatch(r"[-+]?(nan|inf(inity)?)", text, re.IGNORECASE):
        return float(text)
    is_hex = "0x" in text.lower()
    exponent = re.search(rf"{'p' if is_hex else 'e'}([-+]?\d+)$", text, re.IGNORECASE)
    largest = LARGEST_BINARY_EXPONENT if is_hex else LARGEST_EXPONENT
    if exponent and abs(int(exponent[1])) > largest:
        raise ValueError(f"exponents go from -{largest} to {largest} here")
    try:
        number = _hexadecimal(text) if is_hex else Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"{text!r} is no number: type {EXAMPLES}") from None
    return -0.0 if number == 0 and text.startswith("-") else number


def _hexadecimal(text: str) -> Fraction:
    """`0x1.8p3` with every digit. Raises: ValueError for what isn't of that form."""
    parts = HEXADECIMAL.fullmatch(text)
    if not parts or not parts["whole"] + (parts["behind"] or ""):
        raise ValueError(text)
    behind = parts["behind"] or ""
    digits = int(parts["whole"] + behind, 16)
    number = Fraction(digits) * Fraction(2) ** (int(parts["power"] or 0) - 4 * len(behind))
    return -number if parts["sign"] == "-" else number


def exactly(number: float) -> Number:
    """A float as a Fraction; what no Fraction is (NaN, infinities, −0) stays a float."""
    plain = math.isfinite(number) and not (number == 0 and math.copysign(1, number) < 0)
    return Fraction(number) if plain else number


def nearest(fmt: Format, number: Number, overflow: str = "inf_or_nan") -> float:
    """The value of the format for an exact number: rounded once, to nearest, ties to even.

    Through float64 by rounding to odd, which keeps a later rounding right (Boldo and
    Melquiond 2008). Raises: those of `Format.round`.
    """
    if isinstance(number, float):
        return float(fmt.round(number, overflow=overflow))
    close = nearest_float(number)
    inexact = math.isfinite(close) and Fraction(close) != number
    if fmt.k < 64 and inexact and not _is_odd(close):
        close = math.nextafter(close, math.inf if number > Fraction(close) else -math.inf)
    return float(fmt.round(close, overflow=overflow))


def nearest_float(number: Fraction) -> float:
    """The float64 nearest to a fraction; beyond the largest, infinity."""
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


def fraction(number: Number) -> str:
    """`3/2`, with a power of two below the line as `2^k` where it is long."""
    if isinstance(number, float):
        return str(number)
    top, bottom = number.numerator, number.denominator
    if bottom == 1:
        return str(top) if abs(top) < 10**20 else _power(top)
    power = bottom.bit_length() - 1
    below = f"2^{power}" if bottom == 1 << power and power > 10 else str(bottom)
    return f"{top}/{below}"


def _power(whole: int) -> str:
    zeros = (whole & -whole).bit_length() - 1
    return f"{whole >> zeros} · 2^{zeros}"
