"""What fits: a range, not a number, and only in GPUs that have the format."""

import json

import pytest
import torch

from course_utils.core import files
from course_utils.memory import predict_bytes
from course_utils.planner import on_card, will_it_fit
from course_utils.planner.cards import RESERVED, cards, context_bytes, needed, verdict


def test_a_card_without_the_format_is_left_out():
    assert [round(size / 1e9, 1) for size in cards().values()] == [15.6, 25.4, 85.0, 150.1]
    assert "T4" not in cards("AMP BF16") and len(cards("pure BF16")) == 3


def test_an_h100_has_what_the_recording_says():
    (file,) = files.RECORDED.glob("h100-*/10_trading_compute_for_memory/trades.json")
    (gpu,) = json.loads(file.read_text())["machine"]["gpus"]
    assert cards()["H100 SXM"] == pytest.approx(gpu["memory_bytes"], rel=1e-4)


def test_between_what_is_allocated_and_the_margin_it_is_tight():
    least, most = context_bytes()
    safe = RESERVED * 10e9 + most
    assert needed(10e9, 0) == (10e9 + least, safe)
    sizes = {safe: "fits", safe - 1: "tight", 10e9 + least: "tight", 10e9 + least - 1: "too small"}
    assert [verdict(size, 10e9, 0) for size in sizes] == list(sizes.values())


def test_what_is_always_there_has_no_margin():
    least, most = context_bytes()
    assert needed(10e9, 8e9) == (10e9 + least, 8e9 + RESERVED * 2e9 + most)
    assert [on_card("RTX 4090", 18.7e9, always) for always in (16e9, 8e9)] == ["fits", "tight"]
    assert on_card("RTX 4090", 25.2e9, 25.2e9) == "too small"


def build(device):
    model = torch.nn.Linear(4096, 4096)
    optimizer = torch.optim.Adam(model.parameters())
    x = torch.randn(4096, 4096, device=device)

    def step():
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()

    return model, optimizer, step


def test_a_step_of_ones_own_is_answered_card_by_card(monkeypatch):
    rows, found = will_it_fit(build), predict_bytes(build, 2)
    assert [row["answer"] for row in rows] == ["fits"] * 4
    assert rows[0]["reserved, GB"] == f"{found.peak_reserved / 1e9:.1f}"
    least, most = context_bytes()
    least, most = found.peak_allocated + least, found.peak_reserved + most
    sizes = {"a byte less": least - 1, "least": least, "most, but a byte": most - 1, "most": most}
    monkeypatch.setattr("course_utils.planner.cards.cards", lambda: sizes)
    said = [row["answer"] for row in will_it_fit(build)]
    assert said == ["too small", "tight", "tight", "fits"]
    assert found.peak_allocated < found.peak_reserved  # else the two would be told from nothing
    with pytest.raises(TypeError, match="build returns"):
        will_it_fit(lambda device: None)
