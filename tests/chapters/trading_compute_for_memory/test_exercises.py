"""What a wrong answer to chapter 10's exercises is told, and what the checks count."""

import gc
import inspect
import itertools
import json
import weakref

import pytest
import torch
from torch.nn import functional as F

from course_utils.chapters.trading_compute_for_memory import losses, policies
from course_utils.chapters.trading_compute_for_memory.counted_chain import (
    GRADIENT,
    INPUT,
    CountedChain,
)
from course_utils.core import files
from course_utils.lesson.exercises import Wrong, grade
from tests.chapters.trading_compute_for_memory import right_answers, wrong_answers


def said(exercise, answer):
    verdict = grade(exercise, answer)
    assert verdict.passed is False
    return verdict.message


@pytest.mark.parametrize(
    "answer, words",
    [
        ("keeps_everything", "11 values are alive at once in the forward of layer 8, want at most"),
        ("holds_two_segments", "the inputs of layers 0, 4 to 11, and gradients (2)"),
        ("runs_the_last_again", "layer 3, the last of its segment, ran again"),
        ("from_the_first_for_each_layer", "66 forward calls, want at most 21: layer 0 ran 11"),
        ("hands_back_outputs", "is given the input of layer 12, want the input of layer 11"),
    ],
)
def test_a_chain_says_what_was_held_or_run_and_when(answer, words):
    assert words in said("trade.chain", getattr(wrong_answers, answer))


def test_a_right_chain_is_told_how_many_calls_there_had_to_be():
    loose, tight = (
        grade("trade.chain", answer).message
        for answer in (wrong_answers.holds_one_segment, right_answers.with_no_run_too_many)
    )
    assert "60 layers, every=8: 112 forward calls, of which 108 must be" in loose
    assert "108 forward calls, of which 108 must be" in tight


def test_the_calls_that_must_be_are_those_of_an_answer_without_one_too_many():
    for n, every in itertools.product(range(1, 14), range(1, 16)):
        chain = CountedChain(n, every)
        x, grad = chain.make(INPUT, 0), chain.make(GRADIENT, n)
        right_answers.with_no_run_too_many(chain.layers, x, grad, every)
        assert chain.forwards.total() == chain.least_calls


def test_a_chains_values_are_gone_as_soon_as_nobody_has_them():
    gc.disable()
    try:
        chain = CountedChain(3, 1)
        x = chain.make(INPUT, 0)
        y = chain.layers[0].forward(x)
        alive = weakref.ref(y)
        del y
        assert alive() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("count", range(9))
def test_the_best_policy_is_that_of_all_sets(count):
    for _ in range(20):
        sizes = torch.randint(1, 12, (count, 2)).tolist()
        operators = dict(zip(policies.NAMES, map(tuple, sizes), strict=False))
        budget = int(torch.randint(0, 40, ()))
        every_set = right_answers.by_every_set(operators, budget)
        kept = policies.best(operators, budget)
        assert sum(operators[name][0] for name in kept) <= budget
        assert policies.recomputed(operators, kept) == policies.recomputed(operators, every_set)


def test_a_greedy_policy_is_shown_a_better_one_with_its_cost():
    message = said("trade.policy", wrong_answers.the_most_flops_a_mib_first)
    again, better = message.partition(" GFLOP again; with ")[::2]
    assert int(again.split()[-1]) > int(better.split()[-1])


def test_a_name_that_no_operator_has_is_quoted():
    assert "you keep 'softmax', which isn't" in said("trade.policy", lambda *_: {"softmax"})


def test_an_answer_that_spoils_the_operators_spoils_them_for_itself():
    def empties(operators, budget):
        kept = right_answers.by_bits(operators, budget)
        operators.clear()
        return kept

    assert grade("trade.policy", empties).passed


@pytest.mark.parametrize(
    "answer, words",
    [
        ("the_plain_loss", "in the backward about "),
        ("keeps_each_graph", " rows of logits are alive, copies and their gradients among them"),
        ("mean_of_means", "the loss is nan, want "),
        ("without_the_weight", "weight.grad is None"),
        ("checkpoints_each_chunk", ": is a product computed twice?"),
        ("ignores_what_comes_in", ": it is the gradient of loss alone"),
    ],
)
def test_a_loss_in_chunks_is_told_what_differs(answer, words):
    assert words in said("trade.chunks", getattr(wrong_answers, answer))


def test_a_loss_that_holds_all_logits_in_the_forward_alone_is_caught():
    class Held(torch.autograd.Function):
        @staticmethod
        def forward(ctx, hidden, weight, targets, chunk):
            logits = hidden @ weight.T
            ctx.save_for_backward(hidden, weight, targets)
            ctx.chunk = chunk
            return F.cross_entropy(logits, targets)

        backward = wrong_answers.InTheBackward.backward

    with pytest.raises(Wrong, match="in the forward about"):
        losses.judge(Held.apply, 200, 10)


@pytest.mark.parametrize(
    "answer, words",
    [
        ("divides_by_their_number", "at optimizer.step() the gradient is off by "),
        ("gradients_from_before", ": what .grad held before is still in it"),
        ("one_backward_at_the_end", " times those of the largest micro-batch"),
        ("steps_each_time", "optimizer.step() ran 4 times, want once"),
        ("returns_a_graph", "you return a tensor with a graph"),
    ],
)
def test_an_accumulation_is_told_what_differs(answer, words):
    assert words in said("trade.accumulate", getattr(wrong_answers, answer))


def test_an_accumulation_that_leaves_a_parameter_without_gradient_is_told_so():
    def only_the_first(model, optimizer, micro_batches):
        optimizer.zero_grad()
        optimizer.step()
        return 0.0

    assert "a parameter has no gradient" in said("trade.accumulate", only_the_first)


def test_the_broken_loop_of_the_page_is_the_one_that_is_rejected():
    page = json.loads((files.NOTEBOOKS / "10_trading_compute_for_memory.ipynb").read_text())
    code = "\n".join("".join(cell["source"]) for cell in page["cells"])
    assert inspect.getsource(wrong_answers.broken).strip() in code


def test_what_is_summed_for_the_log_after_its_backward_holds_no_activations():
    """So a check that counts bytes lets it pass, where the float is taken at the end."""

    def sums_with_graph(model, optimizer, micro_batches):
        return wrong_answers.returns_a_graph(model, optimizer, micro_batches).item()

    assert grade("trade.accumulate", sums_with_graph).passed
