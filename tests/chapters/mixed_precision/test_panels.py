"""Runs beside a reference: a panel each, what varies marked, and nothing without a reference."""

import pytest

from course_utils.chapters.mixed_precision import beside_reference
from course_utils.core.evidence import Series

LINES = {name: {1: 1.0, 2: 0.5, 3: 0.1} for name in ("FP32", "AMP", "pure")}


def drawn(**more):
    return beside_reference("Both learn", LINES, "FP32", "step", "loss", **more).drawn


def test_each_run_has_a_panel_with_the_reference_in_it():
    text = drawn(notes={"AMP": "≈ 98 %"})
    assert "AMP: ≈ 98 %" in text and text.count("  FP32: ") == 2
    assert "AMP: 1 → ≈ 1" in text and "pure: 1 → ≈ 1" in text


def test_the_reference_has_its_note_below():
    assert "(grey: FP32, ≈ 99 %)" in drawn(notes={"FP32": "≈ 99 %"})


def test_a_recorded_run_stands_in_the_panel_of_its_recipe():
    rows = [{"recipe": "AMP", "step": step, "loss": loss} for step, loss in ((1, 2.0), (2, 1.0))]
    kept = Series.of_rows(rows, "recorded", "recorded: a GPU")
    assert drawn(kept=kept).count("recorded: 1 → ") == 1


def test_without_its_reference_there_is_nothing_to_draw():
    with pytest.raises(KeyError):
        beside_reference("None", {"AMP": {1: 1.0}}, "FP32", "step", "loss")
