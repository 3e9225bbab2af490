"""The bit explorer without a browser: exact numbers in, exact words out. In one: conditions/."""

import math
from fractions import Fraction

import numpy as np
import pytest

from course_utils.chapters.floating_point_formats import formats
from course_utils.chapters.floating_point_formats.bit_explorer import BitExplorer
from course_utils.chapters.floating_point_formats.formats import (
    BF16,
    E2M1,
    E4M3,
    E8M0,
    FP16,
    FP32,
    INT8,
    make,
)
from course_utils.chapters.floating_point_formats.numbers_as_text import (
    decimal,
    fraction,
    nearest,
    parse,
)


def row(explorer, label):
    return dict(map(tuple, explorer.state["rows"]))[label]


@pytest.mark.parametrize(
    "text, number",
    [
        ("0.1", Fraction(1, 10)),
        ("1/3", Fraction(1, 3)),
        ("-3e-5", Fraction(-3, 100_000)),
        ("0x1.8p3", Fraction(12)),
        (" −2 ", Fraction(-2)),
        ("1_000", Fraction(1000)),
        ("inf", math.inf),
        ("-Infinity", -math.inf),
    ],
)
def test_what_is_typed_is_read_exactly(text, number):
    assert parse(text) == number


def test_nan_and_negative_zero_are_read():
    assert math.isnan(parse("nan"))
    assert math.copysign(1, parse("-0")) == -1 and math.copysign(1, parse("-0x0p0")) == -1


@pytest.mark.parametrize(
    "text, says",
    [
        ("", "type a number such as"),
        ("abc", "'abc' is no number"),
        ("1/0", "'1/0' is no number"),
        ("0x", "'0x' is no number"),
        ("1e999999999", "exponents go from -400 to 400"),
        ("9" * 500, "at most 120 characters"),
        ("__import__('os')", "is no number"),
    ],
)
def test_what_is_no_number_gets_a_sentence(text, says):
    with pytest.raises(ValueError, match=says.replace("(", r"\(")):
        parse(text)


@pytest.mark.parametrize("fmt", [FP16, BF16, E4M3, make(10, 5)], ids=lambda f: f.name)
def test_a_fraction_is_rounded_once(fmt):
    """Just beside the middle of two neighbours, closer than any float64."""
    values = fmt.values()
    draw = np.random.default_rng(0).integers(0, len(values) - 1, 200)
    for low, high in zip(values[draw], values[draw + 1], strict=True):
        middle = (Fraction(low) + Fraction(high)) / 2
        hair = Fraction(1, 10**60)
        assert nearest(fmt, middle - hair) == low
        assert nearest(fmt, middle + hair) == high


def test_decimals_and_fractions_are_exact_or_say_that_they_go_on():
    assert decimal(Fraction(819, 8192)) == "0.0999755859375"
    assert decimal(Fraction(1, 3)).endswith("…")
    assert fraction(Fraction(819, 8192)) == "819/2^13"
    assert fraction(Fraction(3, 2)) == "3/2"
    assert fraction(Fraction(2**127)) == "1 · 2^127"


def test_the_error_shown_is_against_what_was_typed():
    explorer = BitExplorer("0.1", FP32)
    assert row(explorer, "typed") == "0.1"
    shown = Fraction(row(explorer, "error").split()[0].rstrip("…"))
    assert abs(shown - (Fraction(float(np.float32(0.1))) - Fraction(1, 10))) < Fraction(1, 10**40)


def test_flipping_stepping_and_halving_act_on_the_bits():
    explorer = BitExplorer("1", FP16)
    explorer.action = {"do": "flip", "with": 0}
    assert row(explorer, "value") == "-1" and explorer.state["bits"][0] == "1"
    explorer.action = {"do": "step", "with": 1}
    assert explorer.value == FP16.next_up(-1.0)
    explorer.action = {"do": "type", "with": "1"}
    explorer.action = {"do": "half", "with": 1}
    assert row(explorer, "error").endswith("(-0.5 ulp)") and explorer.value == 1


def test_another_format_takes_what_was_typed_and_not_what_was_left_of_it():
    explorer = BitExplorer("0.1", E2M1)
    explorer.action = {"do": "choose", "with": "FP64"}
    assert explorer.value == 0.1
    explorer.action = {"do": "compare", "with": "FP8 E4M3"}
    assert row(explorer, "in FP8 E4M3").startswith("0.1015625, off by")


def test_a_readers_own_format_can_be_chosen():
    mine = make(7, 4, name="mine")
    explorer = BitExplorer("1", FP16, mine)
    explorer.action = {"do": "choose", "with": "mine"}
    assert len(explorer.state["bits"]) == 7


@pytest.mark.parametrize("fmt", formats.ALL, ids=lambda f: f.name)
@pytest.mark.parametrize("text", ["0", "-0", "1", "-1e300", "1e-300", "inf", "nan", "1/3"])
def test_every_format_takes_or_refuses_every_number_in_words(fmt, text):
    explorer = BitExplorer("1", fmt)
    explorer.action = {"do": "type", "with": text}
    for do, value in (
        ("half", 1),
        ("step", 1),
        ("step", -1),
        ("flip", 0),
        ("compare", "E8M0 scale"),
    ):
        explorer.action = {"do": do, "with": value, "count": id(value)}
        assert len(explorer.state["bits"]) == fmt.k and explorer.state["rows"]


def test_a_bad_number_leaves_the_last_one_and_says_so():
    explorer = BitExplorer("1", FP16)
    explorer.action = {"do": "type", "with": "eleven"}
    assert "'eleven' is no number" in explorer.state["problem"]
    assert row(explorer, "value") == "1"
    explorer.action = {"do": "choose", "with": "INT8"}
    assert explorer.state["problem"] == ""


def test_marks_on_the_line_lie_where_the_numbers_do():
    marks = {m["kind"]: m for m in BitExplorer("1.25", INT8).state["line"]}
    assert marks["here"]["at"] == 0.5 and marks["typed"]["at"] == 0.625
    assert BitExplorer("inf", FP16).state["line"] == []
    assert BitExplorer("1", E8M0).state["line"][1]["at"] == pytest.approx(1 / 3)


def test_a_page_without_a_kernel_shows_the_bits():
    data, _ = BitExplorer("0.1", FP16)._repr_mimebundle_()
    assert data["text/plain"] == "[widget] 0.0999755859375 in FP16: 0 | 01011 | 1001100110"
    assert len(data["image/png"]) > 1000
