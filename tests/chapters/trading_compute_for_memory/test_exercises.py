"""What a wrong answer to chapter 10's exercises is told, and what the checks count."""

import pytest

from course_utils.lesson.exercises import grade
from tests.chapters.trading_compute_for_memory import wrong_answers


def said(exercise, answer):
    verdict = grade(exercise, answer)
    assert verdict.passed is False
    return verdict.message


@pytest.mark.parametrize(
    "exercise, answer, words",
    [
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


def test_an_accumulation_that_leaves_a_parameter_without_gradient_is_told_so():
    def only_the_first(model, optimizer, micro_batches):
        optimizer.zero_grad()
        optimizer.step()
        return 0.0

    assert "a parameter has no gradient" in said("trade.accumulate", only_the_first)
