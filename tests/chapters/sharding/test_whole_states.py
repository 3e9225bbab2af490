"""All numbers of a run's states, flat."""

import torch

from course_utils.chapters.sharding.whole_states import all_numbers


def test_weights_and_moments_are_there_and_step_counts_and_names_are_not():
    states = {
        "model": {"w": torch.tensor([[1.0, 2.0]])},
        "optimizer": {"state": {"w": {"step": torch.tensor(3.0), "exp_avg": torch.tensor([4.0])}}},
        "lr": 0.1,
        "counts": torch.tensor([5]),
    }
    assert all_numbers(states).tolist() == [1.0, 2.0, 4.0]
