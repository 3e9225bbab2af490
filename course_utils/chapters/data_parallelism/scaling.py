"""Seconds of a data-parallel step on n devices, from chapter 11's cost of an all_reduce.

A third of the computing is the forward pass, two thirds the backward pass (two matmuls a layer
against one). Gradients travel in equal buckets; a bucket is sent when its share of the backward
pass is done, one after another. Seconds, bytes, FLOP.
"""

from dataclasses import dataclass

from course_utils.chapters.collectives.costs import Link, ring_seconds
from course_utils.figures.timeline import Span

BACKWARD = 2 / 3


@dataclass(frozen=True)
class Cluster:
    """`n` equal devices that do `flops_per_s` each, in a ring; each has a link to itself."""

    n: int
    flops_per_s: float
    link: Link


def exposed_seconds(compute: float, messages: float, buckets: int = 1) -> float:
    """Returns the part of `messages` seconds of communication that no computing hides.

    At least the last bucket: it is full when nothing is left to compute.
    """
    before_the_last = BACKWARD * compute * (buckets - 1) / buckets
    return max(messages / buckets, messages - before_the_last)


def messages_seconds(cluster: Cluster, n_bytes: float, buckets: int = 1) -> float:
    """Seconds of a ring all_reduce for each bucket; 0 on one device."""
    if cluster.n == 1:
        return 0.0
    return buckets * ring_seconds(cluster.link, cluster.n, n_bytes / buckets)


def efficiency(cluster: Cluster, flops: float, n_bytes: float, buckets: int = 1) -> float:
    """Returns the share of a step that computes: `flops` a device, gradients of `n_bytes`."""
    compute = flops / cluster.flops_per_s
    messages = messages_seconds(cluster, n_bytes, buckets)
    return compute / (compute + exposed_seconds(compute, messages, buckets))


def step_spans(
    compute: float, backward: float, ready: list[float], took: list[float], overlap: bool = True
) -> list[Span]:
    """Returns one device's step as spans on two rows, `compute` and `network`.

    A step of `compute` seconds ends with its backward pass. `ready` has the seconds of that pass
    after which each bucket is full, `took` those of its all_reduce.
    """
    begin, free = compute - backward, 0.0
    spans = [
        Span("compute", "forward", 0.0, begin, "forward"),
        Span("compute", "backward", begin, compute, "backward"),
    ]
    for bucket, (full, seconds) in enumerate(zip(ready, took, strict=True), 1):
        start = max(begin + full if overlap else compute, free)
        free = start + seconds
        spans.append(Span("network", "all_reduce", start, free, str(bucket)))
    return spans
