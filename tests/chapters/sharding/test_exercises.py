"""The exercises of chapter 13: what is counted, and what a message tells."""

import numpy as np
import pytest
import torch

from course_utils.chapters.sharding.exercises import kept_bytes
from course_utils.lesson.exercises import grade
from tests.chapters.sharding.wrong_answers import WRONG

SHARD = torch.ones(6, requires_grad=True)
SHARD.grad = torch.ones(6)
STEPPED = torch.optim.Adam([SHARD])
STEPPED.step()


@pytest.mark.parametrize(
    "state, want",
    [
        ({}, 0),
        ({"momentum": SHARD, "step": torch.tensor(3.0), "rate": 0.1}, 24),
        ({"momentum": SHARD, "the same": SHARD.view(2, 3)}, 24),
        ({"view": torch.ones(24)[:6]}, 96),
        ({"nested": [{"m": SHARD}, (torch.ones(2),)]}, 32),
        ({"array": np.ones(6, dtype=np.float32)}, 24),
        ({"view of an array": np.ones(24, dtype=np.float32)[:6]}, 96),
        ({"numbers": [0.0] * 6}, 24),
        ({"optimizer": STEPPED}, 48),
    ],
    ids=lambda value: ", ".join(value) if isinstance(value, dict) else value,
)
def test_a_state_has_the_bytes_that_it_keeps_alive(state, want):
    assert kept_bytes(state) == want


def test_a_message_says_what_was_sent_or_kept_too_much():
    answers = {answer.__name__: answer for answer in WRONG["shard.zero1"]}
    sends = grade("shard.zero1", answers["all_reduce_of_the_gradient"]).message
    keeps = grade("shard.zero1", answers["keeps_a_view_of_the_whole"]).message
    assert "rank 0 sends 48 bytes in a step (all_reduce of [8], all_gather of [4])" in sends
    assert "rank 0 keeps 32 bytes in state between steps, want its shard's 16" in keeps
