"""What is exact is drawn and listed as exact."""

import re

import numpy as np
import pytest
import torch

from course_utils.chapters.floating_point_formats.drawing import (
    columns,
    exact_lines,
    formats_table,
)
from course_utils.chapters.floating_point_formats.formats import ALL, E4M3, FP32, INT8


def cells(shown):
    return re.findall(r"<t[hd][^>]*>([^<]*)<", shown.data)


def test_lines_are_named_by_their_format_and_hold_what_they_were_given():
    x = np.array([1.0, 2.0, 4.0])
    lines = {E4M3: E4M3.ulp(x), "mine": {1.0: 3.0, 4.0: 5.0}}
    drawn = exact_lines("Steps", lines, "number", "step", x=x, predicted=("bound", {1.0: 9.0}))
    text = repr(drawn)
    assert "FP8 E4M3: 1 → 0.125; 2 → 0.25; 4 → 0.5" in text
    assert "mine: 1 → 3; 4 → 5" in text and "bound: 1 → 9" in text


def test_a_line_of_another_length_than_x_is_refused():
    with pytest.raises(ValueError, match="shorter"):
        exact_lines("Steps", {"mine": np.ones(2)}, "number", "step", x=np.ones(3))


def test_a_table_of_columns_shows_numbers_of_every_library_alike():
    shown = columns("Cast", {"name": ["a", "b"], "x": torch.tensor([1000.0, torch.nan])})
    assert cells(shown)[-6:] == ["name", "x", "a", "1000", "b", "nan"]
    assert cells(columns("Few digits", {"x": np.array([31.57])}, digits=3))[-1] == "31.6"


def test_every_format_has_its_row_with_the_code_of_its_largest_value():
    found = cells(formats_table(ALL))
    assert found.count("0 1111 110") == 1 and "65,504" in found
    row = found[found.index(FP32.name) :][:6]
    assert row == ["FP32", "32", "24", "3.4028e+38", "–", "1.4e-45"]
    assert found[found.index(INT8.name) :][:4] == ["INT8", "8", "–", "127"]  # its steps are even
