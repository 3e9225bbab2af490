"""The timeline of a data-parallel step.

A third of the computing is the forward pass, two thirds the backward pass (two matmuls a layer
against one). Gradients travel in equal buckets; a bucket is sent when its share of the backward
pass is done, one after another. Seconds.
"""

from course_utils.figures.timeline import Span

BACKWARD = 2 / 3


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
