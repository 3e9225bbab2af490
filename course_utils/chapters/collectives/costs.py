"""What a collective costs: bandwidths as nccl-tests defines them, fitted and predicted times.

Sources: nccl-tests, doc/PERFORMANCE.md (algbw, busbw); Hockney 1994 (α–β). Seconds, bytes, and GB
of 10^9 bytes.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np


def busbw(seconds: float, n: int, n_bytes: float) -> float:
    """Bus bandwidth of an all_reduce in GB/s: algbw · 2(n−1)/n, what a ring's links carry."""
    return n_bytes / seconds / 1e9 * 2 * (n - 1) / n


def seconds_from_busbw(gb_per_s: float, n: int, n_bytes: float) -> float:
    """Seconds of an all_reduce with that bus bandwidth."""
    return n_bytes / (gb_per_s * 1e9) * 2 * (n - 1) / n


@dataclass(frozen=True)
class Link:
    """What a message costs: `alpha` seconds, and `beta` seconds for each byte."""

    alpha: float
    beta: float

    def seconds(self, n_bytes: float) -> float:
        """Seconds of a message of that size: α + β·S."""
        return self.alpha + self.beta * n_bytes


def fit(seconds: Mapping[int, float]) -> Link:
    """The α and β closest to seconds by size in bytes: least squares of relative errors.

    Neither is negative: one that would be is 0.
    """
    sizes, times = np.array(list(seconds), dtype=float), np.array(list(seconds.values()))
    columns = np.stack([1 / times, sizes / times], axis=1)
    found = np.linalg.lstsq(columns, np.ones(len(times)), rcond=None)[0]
    for negative in np.flatnonzero(found < 0):
        other = columns[:, 1 - negative]
        found[negative], found[1 - negative] = 0, other.sum() / (other @ other)
    return Link(*map(float, found))


def misses(link: Link, seconds: Mapping[int, float]) -> dict[int, float]:
    """By how much α + β·S misses each measured time, as a share of that time."""
    return {size: abs(link.seconds(size) / t - 1) for size, t in seconds.items()}


def fit_half(seconds: Mapping[int, float]) -> tuple[Link, dict[int, float]]:
    """α and β fitted on every other size, and their misses on the sizes in between."""
    pairs = list(seconds.items())
    link = fit(dict(pairs[::2]))
    return link, misses(link, dict(pairs[1::2]))


def ring_seconds(link: Link, n: int, n_bytes: float) -> float:
    """Seconds of a ring: 2(n−1) steps with a chunk of n_bytes/n each."""
    return 2 * (n - 1) * link.seconds(n_bytes / n)
