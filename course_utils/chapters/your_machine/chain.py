"""Reads from memory that must wait for each other."""

from collections.abc import Sequence
from itertools import cycle

import torch

from course_utils.core.measurement import Measurement
from course_utils.core.timing import measure

WALKS = 64  # they begin at different places, so that none finds the last one's numbers in a cache


def ring(n: int) -> "torch.Tensor":
    """For each of `n` places the next one; the chain from any place visits all of them.

    `n` is a power of two from 4. The places are those of a linear congruential generator of full
    period (Hull and Dobell 1962), whose order no prefetcher guesses.
    """
    return torch.arange(n).mul_(1_664_525).add_(12_345).remainder_(n)


def follow(table: Sequence[int], place: int, steps: int) -> int:
    """The place after `steps` steps: each is known only when the one before was read."""
    for _ in range(steps):
        place = table[place]
    return place


def chain_step(n_bytes: int, steps: int = 20_000) -> Measurement:
    """Seconds of one step through a ring of `n_bytes`, Python's own time included."""
    n = n_bytes // 8
    table, places = ring(n).numpy().data, cycle(range(0, n, n // WALKS))
    return measure(
        lambda: follow(table, next(places), steps), clock="host", budget_seconds=0.1
    ).per(steps)
