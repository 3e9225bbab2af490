"""The Adam of torch 2.0: one list more, the same updates."""

import torch

from course_utils.memory.prediction import predict_bytes
from course_utils.workloads.training_steps import TwoListAdam
from tests.support.steps import build_of


def test_the_adam_of_torch_2_0_holds_one_list_more_and_updates_as_todays():
    one, two = (
        predict_bytes(build_of("MLP", 1, optimizer=kind), 2).moment.n_bytes["temporary"]
        for kind in (torch.optim.Adam, TwoListAdam)
    )
    assert two - one == 4 * (64 * 99 + 99 + 99 * 9 + 9)
    weights = []
    for kind in (torch.optim.AdamW, TwoListAdam):
        torch.manual_seed(0)
        model = torch.nn.Linear(5, 3)
        adam = kind(model.parameters(), 0.1, weight_decay=0.01)
        for _ in range(4):
            adam.zero_grad()
            model(torch.ones(2, 5)).square().sum().backward()
            adam.step()
        weights.append(model.weight)
    torch.testing.assert_close(*weights)
