"""What a wrong answer to chapter 10's exercises is told, and what the checks count."""

import re

import pytest
import torch

from course_utils.chapters.trading_compute_for_memory import policies
from course_utils.lesson.exercises import grade
from tests.chapters.trading_compute_for_memory import right_answers, wrong_answers


def said(exercise, answer):
    verdict = grade(exercise, answer)
    assert verdict.passed is False
    return verdict.message


@pytest.mark.parametrize(
    "exercise, answer, words",
    [
        ("chain", "keeps_everything", "11 values are alive at once in the forward of layer 8"),
        (
            "chain",
            "holds_two_segments",
            "the gradient for the input of layer 8, the input of layer 0, ",
        ),
        ("chain", "runs_the_last_again", "forward calls, want at most"),
        ("chain", "from_the_first_for_each_layer", "66 forward calls, want at most 21: layer 0"),
        ("chain", "hands_back_outputs", "is given the chain's output, want the input of"),
        ("chunks", "the_plain_loss", "in the backward about "),
        ("chunks", "keeps_each_graph", " rows of logits are alive, copies and their gradients"),
        ("chunks", "mean_of_means", "the loss is nan, want "),
        ("chunks", "without_the_weight", "weight.grad is None"),
        ("chunks", "checkpoints_each_chunk", ": is a product computed twice?"),
        ("chunks", "ignores_what_comes_in", ": it is the gradient of loss alone"),
        ("accumulate", "divides_by_their_number", "at optimizer.step() the gradient is off by "),
        ("accumulate", "gradients_from_before", ": what .grad held before is still in it"),
        ("accumulate", "one_backward_at_the_end", " times those of the largest micro-batch"),
        ("accumulate", "steps_each_time", "optimizer.step() ran 4 times, want once"),
        ("accumulate", "returns_a_graph", "you return a tensor with a graph"),
    ],
)
def test_a_wrong_answer_is_told_what_was_held_run_or_given_and_when(exercise, answer, words):
    assert words in said(f"trade.{exercise}", getattr(wrong_answers, answer))


@pytest.mark.parametrize("count", range(9))
def test_the_best_policy_is_that_of_all_sets(count):
    for _ in range(10):
        sizes = torch.randint(1, 12, (count, 2)).tolist()
        operators = dict(zip(policies.NAMES, map(tuple, sizes), strict=False))
        budget = int(torch.randint(0, 40, ()))
        every_set = right_answers.by_every_set(operators, budget)
        kept = policies.best(operators, budget)
        assert sum(operators[name][0] for name in kept) <= budget
        assert policies.recomputed(operators, kept) == policies.recomputed(operators, every_set)


def test_a_wrong_policy_is_shown_a_better_one_with_its_cost_or_the_name_it_made_up():
    message = said("trade.policy", wrong_answers.the_most_flops_a_mib_first)
    yours, better = re.search(r"you gave (\d+); it is (\d+) GFLOP that run again", message).groups()
    assert int(yours) > int(better)
    assert "you keep 'softmax', which isn't" in said("trade.policy", lambda *_: {"softmax"})


def test_an_accumulation_that_leaves_a_parameter_without_gradient_is_told_so():
    def only_the_first(model, optimizer, micro_batches):
        optimizer.zero_grad()
        optimizer.step()
        return 0.0

    assert "a parameter has no gradient" in said("trade.accumulate", only_the_first)
