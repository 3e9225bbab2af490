"""Clusters offered for a training run, drawn at random, and the right plan for each."""

import math
import random
from dataclasses import dataclass

from course_utils.chapters.collectives.costs import Link
from course_utils.chapters.data_parallelism.scaling import (
    Cluster,
    efficiency,
    exposed_seconds,
    messages_seconds,
)


@dataclass(frozen=True)
class Offer:
    """A cluster and a model, as chapter 14's last exercise describes them; bytes, FLOP, seconds."""

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

    @property
    def cluster(self) -> Cluster:
        return Cluster(self.n, self.flops_per_s, Link(self.alpha, self.beta))


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


def right_plan(offer: Offer) -> tuple[int, float, float]:
    """Local batch, learning rate and efficiency."""
    fits = (offer.memory_bytes - offer.state_bytes) // offer.sample_bytes
    local = min(fits, offer.largest_batch // offer.n)
    rate = offer.base_rate * math.sqrt(offer.n * local / offer.base_batch)
    flops = local * offer.sample_flops
    return local, rate, efficiency(offer.cluster, flops, offer.gradient_bytes, offer.buckets)


def kinds_of(offer: Offer) -> set[str]:
    """What this offer tests: what bounds the batch, what the step waits for."""
    local, _, found = right_plan(offer)
    fits = (offer.memory_bytes - offer.state_bytes) // offer.sample_bytes
    compute = local * offer.sample_flops / offer.flops_per_s
    messages = messages_seconds(offer.cluster, offer.gradient_bytes, offer.buckets)
    last = exposed_seconds(compute, messages, offer.buckets) == messages / offer.buckets
    kinds = {"memory bounds the batch" if fits == local else "largest_batch bounds the batch"}
    if offer.buckets > 1 and found < 0.9:
        kinds.add("only the last bucket shows" if last else "the network is the slower one")
    return kinds
