"""The widget of what fits: it begins a trade short of 24 GB, and each control moves it."""

import re

import pytest

from course_utils.chapters.trading_compute_for_memory import Plan, fits_explorer, peak, shape
from course_utils.chapters.trading_compute_for_memory.cards import context_bytes
from course_utils.chapters.trading_compute_for_memory.fit_widget import CHECKPOINTING, MODELS


def controls_of(widget):
    columns, picture, reading = widget.children
    named = [control for column in columns.children for control in column.children]
    return named, picture, reading


def plain(reading):
    return re.sub("<.*?>", "", reading.value)


def test_unmoved_it_fits_in_80_gb_not_in_24_and_one_change_mends_that():
    widget = fits_explorer()
    named, _, reading = controls_of(widget)
    assert "It fits in 80 GB" in plain(reading) and "not in 24 GB" in widget._shown.alt
    in_backward = named[6]
    in_backward.value = True
    assert "It fits in 24 GB" in plain(reading) and "1.21 times the FLOPs" in plain(reading)
    in_backward.value = False
    named[5].value = "Adam 8-bit"
    assert "It fits in 16 GB" in plain(reading)


def test_its_words_are_the_planners():
    plan = Plan(shape("Llama 3.2 1B"), 1, 4096, checkpointing="every block")
    _, _, reading = controls_of(fits_explorer())
    found = peak(plan)
    total = (found.total + context_bytes()) / 1e9
    assert f"The peak, {total:.1f} GB with CUDA's context, is {found.name}" in plain(reading)


def test_the_picture_follows_every_control():
    named, picture, _ = controls_of(fits_explorer())
    moves = ("GPT-2 large", 16, 2048, "pure BF16", "none", "SGD", True, True)
    for control, value in zip(named, moves, strict=True):
        before = bytes(picture.value)
        control.value = value
        assert bytes(picture.value) != before, control.description


@pytest.mark.parametrize("model", MODELS)
def test_every_model_can_be_chosen_with_every_checkpointing(model):
    for way in CHECKPOINTING:
        _, _, reading = controls_of(fits_explorer(model, checkpointing=way))
        assert "The peak" in plain(reading)


def test_a_model_that_fits_nowhere_says_what_is_missing():
    named, _, reading = controls_of(fits_explorer("Llama 3 8B", 64, 8192, "none"))
    assert re.search(r"It fits in none: 141 GB \(H200\) lack [\d,.]+ GB", plain(reading))
    named[1].value = 1


def test_a_wrong_start_is_refused_with_what_there_is():
    with pytest.raises(ValueError, match="no model 'BERT'"):
        fits_explorer("BERT")
    with pytest.raises(ValueError, match="no 'all'; there are none"):
        fits_explorer(checkpointing="all")
