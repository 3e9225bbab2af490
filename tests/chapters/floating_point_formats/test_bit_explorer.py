"""The bit explorer without a browser: exact numbers in, exact words out. In one: conditions/."""

from fractions import Fraction

import numpy as np
import pytest

from course_utils.chapters.floating_point_formats import formats
from course_utils.chapters.floating_point_formats.bit_explorer import BitExplorer
from course_utils.chapters.floating_point_formats.formats import E2M1, FP16, FP32


def row(explorer, label):
    return dict(map(tuple, explorer.state["rows"]))[label]


def test_the_error_shown_is_against_what_was_typed_in_whichever_format():
    explorer = BitExplorer("0.1", FP32)
    shown = Fraction(row(explorer, "error").split()[0].rstrip("…"))
    assert abs(shown - (Fraction(float(np.float32(0.1))) - Fraction(1, 10))) < Fraction(1, 10**40)
    explorer = BitExplorer("0.1", E2M1)
    explorer.action = {"do": "choose", "with": "FP32"}
    assert explorer.value == float(np.float32(0.1)), "what was typed, not what FP4 left of it"
    explorer.action = {"do": "choose", "with": "FP6 E2M3"}
    assert sum(len(bits) for _, bits in explorer.state["fields"]) == 6


def test_another_format_gets_what_was_typed_and_the_last_number_has_one_neighbour():
    explorer = BitExplorer("1e9", FP16)  # too large for FP16, not for BF16
    assert row(explorer, "value") == "inf"
    explorer.action = {"do": "choose", "with": "BF16"}
    assert row(explorer, "value") == str(238 * 2**22)
    explorer.action = {"do": "choose", "with": "INT8"}
    assert row(explorer, "neighbours").endswith("  and  none")
    explorer = BitExplorer("-6", E2M1)
    assert row(explorer, "neighbours") == "none  and  -4"


def test_flipping_and_stepping_act_on_the_bits_and_a_bad_number_on_nothing():
    explorer = BitExplorer("1", FP16)
    explorer.action = {"do": "flip", "with": 0}
    assert row(explorer, "value") == "-1" and explorer.state["fields"][0] == ["sign", "1"]
    explorer.action = {"do": "step", "with": 1}
    assert explorer.value == -1 + 2**-11
    explorer.action = {"do": "type", "with": "1"}
    explorer.action = {"do": "type", "with": "eleven"}
    assert "'eleven' is no number" in explorer.state["problem"] and explorer.value == 1
    explorer.action = {"do": "choose", "with": "INT8"}
    assert explorer.state["problem"] == ""


@pytest.mark.parametrize(
    "number, fmt, formula",
    [
        ("0.1", FP16, "2^(11 − 15) × (1 + 614/1024)"),
        ("-6", E2M1, "−2^(3 − 1) × (1 + 1/2)"),
        ("1e-7", FP16, "2^(1 − 15) × (0 + 2/1024)"),
    ],
)
def test_the_formula_of_the_fields_is_the_number(number, fmt, formula):
    explorer = BitExplorer(number, fmt)
    assert row(explorer, "by the fields") == formula
    assert eval(formula.replace("−", "-").replace("^", "**").replace("×", "*")) == explorer.value


@pytest.mark.parametrize("fmt", formats.ALL, ids=lambda f: f.name)
def test_every_format_takes_or_refuses_every_number_in_words(fmt):
    acts = [("step", 1), ("step", -1), ("flip", 0)]
    explorer = BitExplorer("1", fmt)
    for text in ("0", "-0", "1", "-1e300", "1e-300", "1e309", "inf", "nan", "1/3"):
        for count, (do, value) in enumerate([("type", text), *acts]):
            explorer.action = {"do": do, "with": value, "count": count}
            bits = "".join(bits for _, bits in explorer.state["fields"])
            assert len(bits) == fmt.k and explorer.state["rows"]
