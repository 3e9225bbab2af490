"""What an optimizer keeps for each weight."""

import torch

from course_utils.chapters.trading_compute_for_memory import state_bytes


def test_adam_keeps_two_numbers_a_weight_and_a_counter_a_tensor():
    model = torch.nn.Linear(16, 16, bias=False)
    parts = [torch.optim.Adam([model.weight]), torch.optim.SGD([model.weight])]
    assert state_bytes(model, parts) == 0, "nothing before the first step"
    model(torch.ones(1, 16)).sum().backward()
    parts[0].step()
    assert state_bytes(model, parts) == (2 * 4 * 256 + 4) / 256
