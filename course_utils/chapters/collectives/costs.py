"""Costs of collectives: bandwidths as nccl-tests defines them, and times by α and β.

Sources: nccl-tests, doc/PERFORMANCE.md (algbw, busbw); Hockney 1994 (α–β). Seconds, bytes, and GB
of 10^9 bytes.
"""

from dataclasses import dataclass


def busbw(seconds: float, n: int, n_bytes: float) -> float:
    """Bus bandwidth of an all_reduce in GB/s: algbw · 2(n−1)/n, what a ring's links carry."""
    return n_bytes / seconds / 1e9 * 2 * (n - 1) / n


def seconds_from_busbw(gb_per_s: float, n: int, n_bytes: float) -> float:
    """Seconds of an all_reduce with that bus bandwidth."""
    return n_bytes / (gb_per_s * 1e9) * 2 * (n - 1) / n


@dataclass(frozen=True)
class Link:
    """The cost of a message: `alpha` seconds, and `beta` seconds for each byte."""

    alpha: float
    beta: float

    def seconds(self, n_bytes: float) -> float:
        """Seconds of a message of that size: α + β·S."""
        return self.alpha + self.beta * n_bytes


def ring_seconds(link: Link, n: int, n_bytes: float) -> float:
    """Seconds of a ring: 2(n−1) steps with a chunk of n_bytes/n each."""
    return 2 * (n - 1) * link.seconds(n_bytes / n)
