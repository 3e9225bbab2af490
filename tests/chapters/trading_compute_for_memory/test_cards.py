"""Whether a step fits: the cards' sizes, what is left of them, and a step of the reader's own."""

import pytest
import torch

from course_utils.chapters.trading_compute_for_memory import will_it_fit
from course_utils.chapters.trading_compute_for_memory.fit_widget import cards, context_bytes, room
from course_utils.memory import predict_bytes


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
