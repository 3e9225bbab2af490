"""Stale gradients: descent with those of some updates ago, and its limit."""

import itertools

import pytest
import torch

from course_utils.chapters.data_parallelism.staleness import (
    descend_quadratic,
    rate_limit,
    stale_descent,
)


@pytest.mark.parametrize("staleness", [0, 1, 2, 5, 16])
def test_stale_descent_converges_below_its_limit_and_not_above(staleness):
    limit = rate_limit(staleness)
    assert (
        descend_quadratic(0.97 * limit, staleness) < 1 < descend_quadratic(1.03 * limit, staleness)
    )


class Bowl(torch.nn.Module):
    """½·w² from w = 1."""

    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.ones(1, dtype=torch.float64))


@pytest.mark.parametrize("staleness", [0, 1, 3])
def test_stale_gradients_are_those_of_so_many_updates_ago(staleness):
    bowl, weights = Bowl(), [1.0] * (staleness + 1)
    for _ in range(30):
        weights.append(weights[-1] - 0.1 * weights[-1 - staleness])
    losses = stale_descent(
        bowl,
        itertools.repeat(None),
        0.1,
        staleness,
        30,
        lambda model, _: 0.5 * model.w.square().sum(),
    )
    assert bowl.w.item() == pytest.approx(weights[-1], rel=1e-12)
    assert len(losses) == 30 and losses[0] == 0.5
