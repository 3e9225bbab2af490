"""The bit explorer without a browser: exact numbers in, exact words out. In one: conditions/."""

from fractions import Fraction

import numpy as np
import pytest

from course_utils.chapters.floating_point_formats import formats
from course_utils.chapters.floating_point_formats.bit_explorer import BitExplorer
from course_utils.chapters.floating_point_formats.formats import E2M1, E8M0, FP16, FP32, INT8, make


def bits_of(explorer):
    return "".join(bits for _, bits in explorer.state["fields"])


def row(explorer, label):
    return dict(map(tuple, explorer.state["rows"]))[label]


def test_the_error_shown_is_against_what_was_typed():
    explorer = BitExplorer("0.1", FP32)
    assert row(explorer, "typed") == "0.1"
    shown = Fraction(row(explorer, "error").split()[0].rstrip("…"))
    assert abs(shown - (Fraction(float(np.float32(0.1))) - Fraction(1, 10))) < Fraction(1, 10**40)


def test_flipping_stepping_and_halving_act_on_the_bits():
    explorer = BitExplorer("1", FP16)
    explorer.action = {"do": "flip", "with": 0}
    assert row(explorer, "value") == "-1" and bits_of(explorer)[0] == "1"
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
    assert len(bits_of(explorer)) == 7


@pytest.mark.parametrize("fmt", formats.ALL, ids=lambda f: f.name)
@pytest.mark.parametrize("text", ["0", "-0", "1", "-1e300", "1e-300", "1e309", "inf", "nan", "1/3"])
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
        assert len(bits_of(explorer)) == fmt.k and explorer.state["rows"]


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
    first = data["text/plain"].splitlines()[0]
    assert first == "[widget] 0.0999755859375 in FP16: 0 | 01011 | 1001100110"
    assert len(data["image/png"]) > 1000


def test_a_field_that_a_format_lacks_takes_no_place():
    assert BitExplorer("1", FP16).state["fields"] == [
        ["sign", "0"],
        ["exponent", "01111"],
        ["significand", "0000000000"],
    ]
    assert [name for name, _ in BitExplorer("1", E8M0).state["fields"]] == ["exponent"]
