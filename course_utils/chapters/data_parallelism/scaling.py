"""What a step of data parallelism takes on n devices, from chapter 11's costs of an all_reduce.

A third of the computing is the forward pass, two thirds the backward one (two products a layer
against one). Gradients travel in equal buckets; a bucket may go when its share of the backward pass
is done, one after another. Seconds, bytes, FLOP.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from course_utils.chapters.collectives.costs import Link, ring_seconds
from course_utils.figures.timeline import Span

BACKWARD = 2 / 3
LINE = 2048  # tokens of a line in the published trainings


@dataclass(frozen=True)
class Cluster:
    """`n` equal devices that do `flops_per_s` each, in a ring of equal links."""

    n: int
    flops_per_s: float
    link: Link


def exposed_seconds(compute: float, messages: float, buckets: int = 1) -> float:
    """The part of `messages` seconds of communication that no computing hides.

    At least the last bucket: it is ready when there is nothing left to compute.
    """
    before_the_last = BACKWARD * compute * (buckets - 1) / buckets
    return max(messages / buckets, messages - before_the_last)


def messages_seconds(cluster: Cluster, n_bytes: float, buckets: int = 1) -> float:
    """A ring all_reduce for each bucket; nothing on one device."""
    if cluster.n == 1:
        return 0.0
    return buckets * ring_seconds(cluster.link, cluster.n, n_bytes / buckets)


def efficiency(cluster: Cluster, flops: float, n_bytes: float, buckets: int = 1) -> float:
    """Computing as a share of the step, for `flops` a device and gradients of `n_bytes`."""
    compute = flops / cluster.flops_per_s
    messages = messages_seconds(cluster, n_bytes, buckets)
    return compute / (compute + exposed_seconds(compute, messages, buckets))


def step_spans(
    cluster: Cluster, flops: float, n_bytes: float, buckets: int = 1, overlap: bool = True
) -> list[Span]:
    """The step of each device as spans on two rows, `compute` and `network`."""
    compute = flops / cluster.flops_per_s
    forward, backward = (1 - BACKWARD) * compute, BACKWARD * compute
    spans = [
        Span("compute", "forward", 0.0, forward, "forward"),
        Span("compute", "backward", forward, compute, "backward"),
    ]
    one, free = messages_seconds(cluster, n_bytes, buckets) / buckets, 0.0
    for bucket in range(buckets if one else 0):
        ready = forward + backward * (bucket + 1) / buckets if overlap else compute
        start = max(ready, free)
        free = start + one
        spans.append(Span("network", "all_reduce", start, free, f"{bucket + 1}"))
    return spans


@dataclass(frozen=True)
class Trained:
    """A model's published training: its throughput by number of devices, per device.

    `tokens` are those of a device's step, `messages` the collectives of a step.
    """

    tokens: int
    messages: int
    throughput: Mapping[int, float]

    def seconds(self, n: int) -> float:
        """Of a step on `n` devices."""
        return self.tokens / self.throughput[n]


def trained(rows: Sequence[Mapping[str, Any]]) -> dict[str, Trained]:
    """Models by name from published rows."""
    return {
        row["model"]: Trained(
            tokens=row["lines"] * LINE,
            messages=row["layers"] * row["collectives"],
            throughput={
                r["gpus"]: r["tokens_per_s_gpu"] for r in rows if r["model"] == row["model"]
            },
        )
        for row in rows
    }


def fit_latency(models: Iterable[Trained], few: int, many: int) -> float:
    """One α for all models: seconds of a ring's step, from how steps grow from `few` to `many`.

    A collective is a ring of n−1 steps. What doesn't grow with n (computing, and bytes, of which
    (n−1)/n travel) drops out. Least squares of relative errors.
    """
    above = below = 0.0
    for model in models:
        after = model.seconds(many)
        weight = model.messages * (many - few) / after
        above += weight * (after - model.seconds(few)) / after
        below += weight**2
    return above / below


def growth(model: Trained, few: int, between: int, many: int) -> float:
    """What a step grows by from `between` to `many` devices, over that from `few` to `between`.

    Where each number is twice the one before, rings whose steps all show give 2 (their steps
    double), trees 1 (a level more each time), and what computing hides at first more than 2.
    """
    later = model.seconds(many) - model.seconds(between)
    return later / (model.seconds(between) - model.seconds(few))


def by_latency(model: Trained, alpha: float, known: int, n: int) -> float:
    """The throughput on `n` devices, from that on `known` ones and the steps that are added."""
    return model.tokens / (model.seconds(known) + model.messages * (n - known) * alpha)


def last_ratio_again(model: Trained, few: int, many: int) -> float:
    """The next throughput if it falls as it did from `few` to `many`: the guess to beat."""
    return model.throughput[many] ** 2 / model.throughput[few]
