"""Checkers for chapter 17, "Large batches"."""

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from course_utils.lesson.answers import against, as_list, as_numbers, compare
from course_utils.lesson.exercises import exercise

PLANS = 200
RUNS = 20

# ---- Gradients of a run's ranks, drawn at random around a true gradient.


def draw_gradients(steps: int, ranks: int, b: int, scale: float) -> Tensor:
    """Returns each rank's mean gradient of `b` samples, (steps, ranks, 50), whose noise scale is
    `scale`. Lengths change from step to step; the scale doesn't.
    """
    true = torch.randn(steps, 1, 50, dtype=torch.double)
    sizes = torch.rand(steps) + 0.5
    true *= sizes[:, None, None] / true.norm(dim=-1, keepdim=True)
    noise = torch.randn(steps, ranks, 50, dtype=torch.double)
    return true + noise * sizes[:, None, None] * math.sqrt(scale / 50 / b)


def two_batch_scale(gradients: Tensor, b: int) -> float:
    """Returns the noise scale of a run from its ranks' gradients and their averages.

    Source: McCandlish et al. 2018 (arXiv 1812.06162), appendix A.1.
    """
    n = gradients.shape[1]
    local = gradients.square().sum(2).mean().item()
    average = gradients.mean(1).square().sum(1).mean().item()
    signal = (n * b * average - b * local) / (n * b - b)
    return (local - average) / (1 / b - 1 / (n * b)) / signal


@exercise(
    "scaling.noise_scale",
    todo="write noise_scale_of(gradients, b) for gradients of shape (steps, ranks, parameters).",
    hints=(
        "Two numbers suffice: the mean of |g|² over all ranks and steps (batch b), and the mean "
        "over the steps of |g_avg|², where g_avg is a step's mean over ranks (batch n·b).",
        "|G|² = (n·b·average − b·local) / (n·b − b); tr(Σ) = (local − average) / (1/b − 1/(n·b)). "
        "Their quotient, of means over all steps, is the noise scale.",
    ),
)
def check_noise_scale(noise_scale: Callable[[Tensor, int], Any]) -> str:
    """Random runs of 2 to 8 ranks, and one that is long enough for its true noise scale."""
    for _ in range(RUNS):
        n, b, scale = random.randint(2, 8), random.randint(1, 64), 10 ** random.uniform(0.5, 2.5)
        gradients = draw_gradients(random.randint(1, 40), n, b, scale)
        where = f"for {len(gradients)} steps, {n} ranks, b={b}"
        compare(noise_scale(gradients.clone(), b), two_batch_scale(gradients, b), where)
    found = as_numbers([noise_scale(draw_gradients(4000, 4, 16, 40), 16)])[0]
    compare(found, 40.0, "for 4,000 steps of gradients whose noise scale is 40, to 10%", 0.1)
    return f"runs of 2 to 8 ranks; where the true noise scale is 40, yours is {found:.3g}"


# ---- Clusters offered for a training run, drawn at random, and the right plan for each.


@dataclass(frozen=True)
class Offer:
    """A cluster and a model, as chapter 17's exercise describes them; bytes, samples."""

    n: int
    memory_bytes: int
    state_bytes: int
    sample_bytes: int
    critical_batch: int
    base_batch: int
    base_rate: float
    computing: float


def draw_offer() -> Offer:
    """8 GPUs with room for some samples, and links from slow to quick."""
    state, sample = round(10 ** random.uniform(9, 11)), round(10 ** random.uniform(8.5, 9.5))
    room = random.randint(4, 64)
    return Offer(
        n=8,
        memory_bytes=state + room * sample + random.randint(0, sample - 1),
        state_bytes=state,
        sample_bytes=sample,
        critical_batch=8 * random.randint(2, 64) + random.randint(0, 7),
        base_batch=random.choice([16, 32, 64]),
        base_rate=random.choice([1e-4, 3e-4, 1e-3]),
        computing=random.randint(30, 99) / 100,
    )


def right_plan(offer: Offer) -> tuple[int, float, float]:
    """The right local batch, learning rate, and share of the GPUs' time that lowers the loss."""
    fits = (offer.memory_bytes - offer.state_bytes) // offer.sample_bytes
    local = min(fits, offer.critical_batch // offer.n)
    batch = offer.n * local
    old, new = (1 + offer.critical_batch / b for b in (offer.base_batch, batch))
    rate = offer.base_rate * math.sqrt(old / new)
    return local, rate, offer.computing / (1 + batch / offer.critical_batch)


@exercise(
    "scaling.plan",
    todo="write plan(offer): (local_batch, learning_rate, useful) for its 8 GPUs.",
    hints=(
        "The batch: whole samples beside the state in memory, and n times as many may not be "
        "more than critical_batch. Both bounds hold: take the smaller.",
        "With α = ½ the rate grows by the root of (1 + B_crit/base_batch) / (1 + B_crit/B), "
        "where B is the global batch, n·local.",
        "E = E_min · (1 + B / B_crit), where B is the global batch: of E samples, E_min would "
        "do. The GPUs compute for the share `computing` of their time.",
    ),
)
def check_plan(plan: Callable[[Offer], Any]) -> str:
    """Random offers, and each with nothing left over: whole samples, whole shards."""
    offers = [draw_offer() for _ in range(PLANS)]
    cases = [(one,) for offer in offers for one in (offer, _filled(offer))]
    names = " (local_batch, learning_rate, useful)"

    def answer(offer: Offer) -> list[float]:
        return as_numbers(as_list(plan(offer), names.strip()), 3)

    against(answer, right_plan, cases, why=lambda offer: names)
    return "random clusters of 8 GPUs: batch, learning rate, and the time that isn't lost"


def _filled(offer: Offer) -> Offer:
    """The same offer where whole samples fill the memory, and whole shards the critical batch."""
    rest = (offer.memory_bytes - offer.state_bytes) % offer.sample_bytes
    most = offer.critical_batch - offer.critical_batch % offer.n
    return replace(offer, memory_bytes=offer.memory_bytes - rest, critical_batch=most)
