"""What fits: a step of the reader's own, and the widget, which begins a trade short of 24 GB."""

import re

import pytest
import torch

from course_utils.chapters.trading_compute_for_memory import (
    Plan,
    fits_explorer,
    peak,
    shape,
    will_it_fit,
)
from course_utils.chapters.trading_compute_for_memory.fit_widget import cards, context_bytes, room
from course_utils.memory import predict_bytes


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


def build(device):
    model = torch.nn.Linear(4096, 4096)
    optimizer = torch.optim.Adam(model.parameters())
    x = torch.randn(4096, 4096, device=device)

    def step():
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()

    return model, optimizer, step


def test_a_step_of_ones_own_is_answered_card_by_card_and_cudas_context_counts():
    assert [size / 1e9 for size in cards().values()] == [16, 24, 80, 141]
    assert room(23e9)["RTX 4090"] == 24e9 - 23e9 - context_bytes()
    assert room(24e9)["RTX 4090"] < 0 < room(24e9)["H100 SXM"]
    rows = will_it_fit(build)
    reserved = predict_bytes(build, 2).peak_reserved
    assert [row["fits"] for row in rows] == ["✓"] * 4
    assert rows[0]["left, GB"] == f"{(16e9 - reserved - context_bytes()) / 1e9:.1f}"
    with pytest.raises(TypeError, match="build returns"):
        will_it_fit(lambda device: None)
