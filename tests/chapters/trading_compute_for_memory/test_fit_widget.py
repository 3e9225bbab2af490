"""The widget of what fits: it begins a trade short of 24 GB, and each control moves it."""

import re

import pytest

from course_utils.chapters.trading_compute_for_memory import Plan, fits_explorer, peak, shape
from course_utils.chapters.trading_compute_for_memory.fit_widget import context_bytes


def controls_of(widget):
    columns, picture, reading = widget.children
    named = [control for column in columns.children for control in column.children]
    return named, picture, reading


def plain(reading):
    return re.sub("<.*?>", "", reading.value)


def test_unmoved_it_fits_in_80_gb_not_in_24_and_one_change_mends_that():
    widget = fits_explorer()
    named, _, reading = controls_of(widget)
    found = peak(Plan(shape("Llama 3.2 1B"), 1, 4096, checkpointing="every block"))
    total = (found.total + context_bytes()) / 1e9
    assert f"The peak, {total:.1f} GB with CUDA's context, is {found.name}" in plain(reading)
    assert "It fits in 80 GB" in plain(reading) and "not in 24 GB" in widget._shown.alt
    named[6].value = True  # its step inside the backward pass
    assert "It fits in 24 GB" in plain(reading) and "1.21 times the FLOPs" in plain(reading)


def test_the_picture_follows_every_control():
    named, picture, _ = controls_of(fits_explorer())
    moves = ("GPT-2 large", 16, 2048, "pure BF16", "none", "SGD", True, True)
    for control, value in zip(named, moves, strict=True):
        before = bytes(picture.value)
        control.value = value
        assert bytes(picture.value) != before, control.description


def test_a_model_that_fits_nowhere_says_what_is_missing_and_a_wrong_start_what_there_is():
    _, _, reading = controls_of(fits_explorer("Llama 3 8B", 64, 8192, "none"))
    assert re.search(r"It fits in none: 141 GB \(H200\) lack [\d,.]+ GB", plain(reading))
    with pytest.raises(ValueError, match="no model 'BERT'"):
        fits_explorer("BERT")
    with pytest.raises(ValueError, match="no 'all'; there are none"):
        fits_explorer(checkpointing="all")
