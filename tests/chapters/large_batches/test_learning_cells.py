"""The page's races: what nets that are trained as one learn is what plain loops give."""

import math
from collections import deque
from functools import partial

import pytest
import torch
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from course_utils.workloads import Addition
from course_utils.workloads.addition import decode
from tests.support.page_cells import cells_of, without_magic

CELLS = {name: without_magic(source) for name, source in cells_of("17").items()}


@pytest.fixture(scope="module")
def learning():
    names = {"torch": torch, "deque": deque, "math": math}
    for cell in ("net", "losses", "optimizers", "train"):
        exec(CELLS[cell], names)
    return names


@pytest.mark.parametrize("late", [0, 3])
@pytest.mark.parametrize("way, rates", [("sgd", [0.3, 0.6]), ("adam", [0.01, 0.03])])
def test_nets_trained_as_one_learn_as_each_alone(learning, way, rates, late):
    """torch's optimizers are the oracle; the samples are those that the second seed sees."""
    curve, weights = learning["train"](learning[way], 16, rates, 24, late=late)
    make = {"sgd": torch.optim.SGD, "adam": partial(torch.optim.Adam, betas=(0.9, 0.95))}[way]
    for at, rate in enumerate(rates):
        alone, chance = learning["net"](1), torch.Generator().manual_seed(0)
        optimizer = make(alone.parameters(), rate)
        past = [parameters_to_vector(alone.parameters()).detach()]
        for _ in range(24):
            drawn = torch.randint(len(learning["X"]), (3, 1, 16), generator=chance)[1, 0]
            old = learning["net"](1)
            vector_to_parameters(past[max(0, len(past) - 1 - late)], old.parameters())
            loss = torch.nn.functional.cross_entropy(
                old(learning["X"][drawn]), learning["Y"][drawn]
            )
            grads = torch.autograd.grad(loss, list(old.parameters()))
            for p, grad in zip(alone.parameters(), grads, strict=True):
                p.grad = grad
            optimizer.step()
            past.append(parameters_to_vector(alone.parameters()).detach())
        torch.testing.assert_close(weights[1, at], past[-1], rtol=1e-3, atol=1e-4)
        x, y = learning["TEST"]
        want = torch.nn.functional.cross_entropy(alone(x), y)
        torch.testing.assert_close(curve[24][1, at], want, rtol=1e-3, atol=1e-4)


def test_training_ends_soon_after_all_seeds_are_below_the_goal_at_one_rate(learning):
    curve, _ = learning["train"](learning["sgd"], 64, [2.0, 2.8, 4.0], 2000, goal=2.0)
    reached = next(step for step, found in curve.items() if (found < 2.0).all(0).any())
    assert reached < max(curve) <= reached * 1.2


def test_the_estimate_of_the_checker_is_unbiased():
    """Of draws whose noise scale is known."""
    from course_utils.chapters.large_batches.exercises import draw_gradients, two_batch_scale

    for n, b, scale in ((2, 1, 5.0), (4, 16, 100.0), (8, 64, 20.0)):
        torch.manual_seed(0)
        found = two_batch_scale(draw_gradients(4000, n, b, scale), b)
        assert found == pytest.approx(scale, rel=0.1)


def test_the_class_is_the_sums_tens_digit_and_the_inputs_are_both_numbers_digits(learning):
    lines = Addition().held_out[:300]
    x, y = learning["tens_digits"](lines)
    texts = [decode(line) for line in lines]
    assert y.tolist() == [(int(t[:2]) + int(t[3:5])) // 10 % 10 for t in texts]
    digits = x.view(-1, 4, 10)
    assert torch.equal(digits.sum(2), torch.ones(300, 4))
    want = [[int(t[at]) for at in (0, 1, 3, 4)] for t in texts]
    assert digits.argmax(2).tolist() == want
