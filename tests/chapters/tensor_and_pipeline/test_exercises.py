"""The exercises of chapter 14: what a message tells."""

import pytest
import torch

from course_utils.lesson.exercises import grade
from tests.chapters.tensor_and_pipeline.wrong_answers import WRONG
from tests.support.page_cells import cells_of


@pytest.mark.parametrize("name, why", [
    ("the_bias_on_every_rank", "off by the same in each row"),
    ("the_gradient_of_x_is_a_term", "a term of a sum, which was not summed"),
    ("the_mean_of_the_terms", "a part in 2 of it"),
    ("the_bias_gradient_is_added_up", "2 times as much"),
    ("the_bias_gradient_is_a_mean_of_all", "all_reduce of [4])"),
])  # fmt: skip
def test_a_message_says_which_collective_is_wrong(name, why):
    answers = {answer.__name__: answer for answer in WRONG["shard.wrong_collective"]}
    assert why in grade("shard.wrong_collective", answers[name]).message


@pytest.mark.parametrize("name, why", [
    ("all_forwards_first", "micro-batches, want at most"),
    ("one_micro_batch_after_the_other", "forward passes, want"),
    ("without_the_stage", "can't do ('F', 0)"),
    ("for_one_rank", "you return 1 lists, want 2"),
    ("forwards_in_two_orders", "This order deadlocks: rank 0 can't do"),
    ("more_forwards_than_there_are", "can't do (0, 'F',"),
    ("no_backwards_at_the_end", "never does"),
])  # fmt: skip
def test_a_message_says_what_a_schedule_lacks(name, why):
    answers = {answer.__name__: answer for answer in WRONG["shard.one_f_one_b"]}
    assert why in grade("shard.one_f_one_b", answers[name]).message


def test_the_block_on_the_page_is_wrong_every_time_it_is_checked():
    (cell,) = [source for source in cells_of("14").values() if "def broken" in source]
    names = {"torch": torch, "check": lambda *_: None}
    exec(cell, names)
    assert not any(grade("shard.wrong_collective", names["broken"]).passed for _ in range(5))
