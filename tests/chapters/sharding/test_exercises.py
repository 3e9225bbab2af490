"""The exercises of chapter 13: what is counted, and what a message tells."""

import numpy as np
import pytest
import torch

from course_utils.chapters.sharding.step_problems import kept_bytes
from course_utils.lesson.exercises import grade
from tests.chapters.sharding.wrong_answers import WRONG
from tests.support.page_cells import cells_of

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


@pytest.mark.parametrize("name, why", [
    ("the_bias_on_every_rank", "off by the same in each row"),
    ("the_gradient_of_x_is_a_term", "a term of a sum, which was not added up"),
    ("the_mean_of_the_terms", "a part in 2 of it"),
    ("the_bias_gradient_is_added_up", "2 times as much"),
    ("the_bias_gradient_is_a_mean_of_all", "all_reduce of [4])"),
])  # fmt: skip
def test_a_message_says_which_collective_is_wrong(name, why):
    answers = {answer.__name__: answer for answer in WRONG["shard.wrong_collective"]}
    assert why in grade("shard.wrong_collective", answers[name]).message


def test_the_block_on_the_page_is_wrong_every_time_it_is_checked():
    (cell,) = [source for source in cells_of("13").values() if "def broken" in source]
    names = {"torch": torch, "check": lambda *_: None}
    exec(cell, names)
    assert not any(grade("shard.wrong_collective", names["broken"]).passed for _ in range(5))
