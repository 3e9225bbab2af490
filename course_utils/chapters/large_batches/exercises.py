"""Checkers for chapter 17, "Large batches"."""

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from course_utils.chapters.collectives.costs import Link
from course_utils.chapters.data_parallelism.scaling import Cluster, efficiency
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
    """A cluster and a model, as chapter 17's exercise describes them; bytes, FLOP, seconds."""

    n: int
    memory_bytes: int
    state_bytes: int
    sample_bytes: int
    largest_batch: int
    base_batch: int
    base_rate: float
    sample_flops: float
    flops_per_s: float
    gradient_bytes: int
    buckets: int
    alpha: float
    beta: float


def draw_offer() -> Offer:
    """8 GPUs with room for some samples, and links from slow to quick."""
    parameters = 10 ** random.uniform(8, 9.5)
    state, sample = round(16 * parameters), round(10 ** random.uniform(8.5, 9.5))
    room = random.randint(4, 64)
    return Offer(
        n=8,
        memory_bytes=state + room * sample + random.randint(0, sample - 1),
        state_bytes=state,
        sample_bytes=sample,
        largest_batch=8 * random.randint(2, 64) + random.randint(0, 7),
        base_batch=random.choice([16, 32, 64]),
        base_rate=random.choice([1e-4, 3e-4, 1e-3]),
        sample_flops=6 * parameters * random.choice([256, 1024, 2048]),
        flops_per_s=4e14,
        gradient_bytes=round(4 * parameters),
        buckets=random.choice([1, 2, 3, 4, 6, 25]),
        alpha=10 ** random.uniform(-5.5, -2.5),
        beta=10 ** random.uniform(-11.5, -9),
    )


def batch_and_rate(offer: Offer) -> tuple[int, float]:
    """The right local batch and learning rate."""
    fits = (offer.memory_bytes - offer.state_bytes) // offer.sample_bytes
    local = min(fits, offer.largest_batch // offer.n)
    return local, offer.base_rate * math.sqrt(offer.n * local / offer.base_batch)


def scaling(offer: Offer) -> float:
    """The right efficiency."""
    cluster = Cluster(offer.n, offer.flops_per_s, Link(offer.alpha, offer.beta))
    flops = batch_and_rate(offer)[0] * offer.sample_flops
    return efficiency(cluster, flops, offer.gradient_bytes, offer.buckets)


@exercise(
    "scaling.plan",
    todo="write plan(offer): (local_batch, learning_rate, efficiency) for its 8 GPUs.",
    hints=(
        "The batch: whole samples beside the state in memory, and n times as many may not be "
        "more than largest_batch. Both bounds hold: take the smaller.",
        "Adam's rate grows as the square root of the global batch, n·local, over base_batch.",
        "C = local·sample_flops/flops_per_s. A ring costs 2(n−1)·(alpha + beta·bytes/n) for "
        "each bucket of gradient_bytes/buckets. The step takes C and what is exposed.",
    ),
)
def check_plan(plan: Callable[[Offer], Any]) -> str:
    """Random offers, and each with nothing left over: whole samples, whole shards."""
    offers = [draw_offer() for _ in range(PLANS)]
    cases = [(one,) for offer in offers for one in (offer, _filled(offer))]

    def answer(offer: Offer) -> list[float]:
        return as_numbers(as_list(plan(offer), "(local_batch, learning_rate, efficiency)"), 3)

    pair = " (local_batch, learning_rate)"
    against(lambda offer: answer(offer)[:2], batch_and_rate, cases, why=lambda offer: pair)
    share = " (efficiency, within 5%)"
    against(lambda offer: answer(offer)[2], scaling, cases, rel_tol=0.05, why=lambda offer: share)
    return "random clusters of 8 GPUs: batch, learning rate, and efficiency within 5%"


def _filled(offer: Offer) -> Offer:
    """The same offer where whole samples fill the memory, and whole shards the largest batch."""
    rest = (offer.memory_bytes - offer.state_bytes) % offer.sample_bytes
    most = offer.largest_batch - offer.largest_batch % offer.n
    return replace(offer, memory_bytes=offer.memory_bytes - rest, largest_batch=most)
