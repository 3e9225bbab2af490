"""What is typed is read exactly, rounded once, and written out whole."""

import math
from fractions import Fraction

import numpy as np
import pytest

from course_utils.chapters.floating_point_formats.bit_explorer import (
    decimal,
    nearest,
    parse,
)
from course_utils.chapters.floating_point_formats.formats import BF16, E4M3, E5M2, FP16


@pytest.mark.parametrize(
    "text, number",
    [
        ("0.1", Fraction(1, 10)),
        ("1/3", Fraction(1, 3)),
        ("-3e-5", Fraction(-3, 10**5)),
        (" −2 ", Fraction(-2)),
        ("-Infinity", -math.inf),
    ],
)
def test_what_is_typed_is_read_exactly(text, number):
    assert parse(text) == number
    assert math.isnan(parse("nan")) and math.copysign(1, parse("-0")) == -1


@pytest.mark.parametrize(
    "text, says",
    [
        ("", "type a number such as"),
        ("eleven", "is no number"),
        ("1e999999999", "exponents go from -400 to 400"),
        ("9" * 500, "at most 120 characters"),
    ],
)
def test_what_is_no_number_gets_a_sentence(text, says):
    with pytest.raises(ValueError, match=says):
        parse(text)


@pytest.mark.parametrize("text", ["1e309", "-1e400"])
def test_what_no_float64_reaches_overflows_as_any_other_number(text):
    number = parse(text)
    assert nearest(FP16, number) == math.copysign(math.inf, 1 if number > 0 else -1)
    assert math.isnan(nearest(E4M3, number))


@pytest.mark.parametrize("fmt", [FP16, BF16, E4M3, E5M2], ids=lambda f: f.name)
def test_a_fraction_is_rounded_once(fmt):
    """Just beside the middle of two neighbours, closer than any float64."""
    values = fmt.values()
    draw = np.random.default_rng(0).integers(0, len(values) - 1, 200)
    for low, high in zip(values[draw], values[draw + 1], strict=True):
        middle, hair = (Fraction(low) + Fraction(high)) / 2, Fraction(1, 10**60)
        assert (nearest(fmt, middle - hair), nearest(fmt, middle + hair)) == (low, high)


def test_decimals_are_exact_or_say_that_they_go_on():
    assert decimal(Fraction(819, 8192)) == "0.0999755859375"
    assert decimal(Fraction(1, 3)).endswith("…")
