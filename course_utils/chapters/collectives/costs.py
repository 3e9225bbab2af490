"""What an all_reduce costs: bandwidths as nccl-tests defines them, fitted and predicted times.

Sources: nccl-tests, doc/PERFORMANCE.md (algbw, busbw); Hockney 1994 (α–β). Seconds, bytes, and GB
of 10^9 bytes.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

TERMS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "1": np.ones_like,
    "S": lambda size: size,
    "√S": np.sqrt,
}


def busbw(seconds: float, n: int, n_bytes: float) -> float:
    """Bus bandwidth of an all_reduce in GB/s: algbw · 2(n−1)/n, what each link carries."""
    return n_bytes / seconds / 1e9 * 2 * (n - 1) / n


def seconds_from_busbw(gb_per_s: float, n: int, n_bytes: float) -> float:
    """The time that a published busbw stands for."""
    return n_bytes / (gb_per_s * 1e9) * 2 * (n - 1) / n


@dataclass(frozen=True)
class Cost:
    """Seconds as a sum of terms of the size: `{"1": α, "S": β, "√S": γ}`."""

    factors: Mapping[str, float]

    def seconds(self, n_bytes: float) -> float:
        size = np.array(float(n_bytes))
        return float(sum(f * TERMS[term](size) for term, f in self.factors.items()))


def fit(seconds: Mapping[int, float], terms: Sequence[str] = ("1", "S")) -> Cost:
    """The cost model closest to seconds by size in bytes: least squares of relative errors.

    No factor is negative: terms that would be are left out (all subsets are tried).
    """
    sizes = np.array(list(seconds), dtype=float)
    times = np.array(list(seconds.values()))
    best, error = Cost({}), math.inf
    for count in range(1, len(terms) + 1):
        for chosen in combinations(terms, count):
            relative = np.stack([TERMS[t](sizes) / times for t in chosen], axis=1)
            factors = np.linalg.lstsq(relative, np.ones(len(times)), rcond=None)[0]
            missed = float(np.sum((relative @ factors - 1) ** 2))
            if (factors >= 0).all() and missed < error:
                best, error = Cost(dict(zip(chosen, map(float, factors), strict=True))), missed
    return best


def misses(cost: Cost, seconds: Mapping[int, float]) -> dict[int, float]:
    """By how much the model misses each measured time, as a share of that time."""
    return {size: abs(cost.seconds(size) / t - 1) for size, t in seconds.items()}


def fit_half(
    seconds: Mapping[int, float], terms: Sequence[str] = ("1", "S")
) -> tuple[Cost, dict[int, float]]:
    """A model fitted on every other size, and its misses on the sizes in between."""
    pairs = list(seconds.items())
    model = fit(dict(pairs[::2]), terms)
    return model, misses(model, dict(pairs[1::2]))


@dataclass(frozen=True)
class Link:
    """What a step over a link costs: `alpha` seconds, and `beta` seconds for each byte."""

    alpha: float
    beta: float


def ring_seconds(link: Link, n: int, n_bytes: float) -> float:
    """A ring: 2(n−1) steps with a chunk of n_bytes/n each."""
    return 2 * (n - 1) * (link.alpha + link.beta * n_bytes / n)


def tree_seconds(link: Link, n: int, n_bytes: float) -> float:
    """A binomial tree: 2⌈log₂ n⌉ steps with all the bytes."""
    return 2 * math.ceil(math.log2(n)) * (link.alpha + link.beta * n_bytes)
