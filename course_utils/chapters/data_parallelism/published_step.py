"""A published step of ResNet-50 under DDP on 2 × A100, for a timeline; its parameters' sizes."""

import re
from dataclasses import replace
from functools import cache

import numpy as np

from course_utils.core.evidence import published
from course_utils.figures.timeline import Span
from course_utils.traces.stored import published_trace
from snapshots_and_traces.traces import intervals
from snapshots_and_traces.traces.trace import Kind

STEP = 2  # of the three that the trace has; the first of those that are kept whole
CLOSED = 1e-4  # seconds: kernels with shorter gaps between them are drawn as one
MARKED = re.compile(r"## (\w+) ##")


def ddp_spans(start: float = 0.0, end: float = 1.0) -> list[Span]:
    """Returns the step's host, its kernels, and NCCL's with their MB, between two times of it.

    In seconds; spans are cut off at both times. The kernels are those that the step launched,
    without NCCL's; gaps under 0.1 ms are closed.
    """
    found = list(_traced())
    for row in published("ddp_resnet50_nccl").rows:
        if row["step"] == STEP:
            begin, note = row["start_seconds"], f"{row['n_bytes'] / 1e6:.0f} MB"
            found.append(Span("NCCL", row["collective"], begin, begin + row["seconds"], note))
    return [
        replace(span, start=max(span.start, start), end=min(span.end, end))
        for span in found
        if span.end > start and span.start < end
    ]


def resnet50_sizes() -> list[int]:
    """Bytes of ResNet-50's parameters in FP32, in the order of torchvision's model (He et al.)."""
    counts, inside = [64 * 3 * 49, 64, 64], 64
    for blocks, width in ((3, 64), (4, 128), (6, 256), (3, 512)):
        for block in range(blocks):
            for weight, norm in ((inside, 1), (9 * width, 1), (width * 4, 4)):
                counts += [weight * width, norm * width, norm * width]
            if block == 0:  # the shortcut's
                counts += [inside * 4 * width, 4 * width, 4 * width]
            inside = 4 * width
    return [4 * count for count in (*counts, 2048 * 1000, 1000)]


@cache
def _traced() -> list[Span]:
    """Returns the host's parts as the program marked them, and when its kernels ran."""
    trace = published_trace("ddp_resnet50")
    begin, end = next(iter(trace.steps.values()))
    called = trace.start[trace.launch]
    mine = (trace.kind == Kind.KERNEL) & ~trace.messages & (called >= begin) & (called < end)
    ran = trace.moments(mine)
    ran = intervals.union(ran[:, 0], ran[:, 1] + CLOSED) - [begin, begin + CLOSED]
    inside = np.flatnonzero((trace.start >= begin) & (trace.end <= end))
    marks = ((MARKED.match(trace.names[trace.name[at]]), at) for at in inside)
    parts = [
        (mark[1], trace.start[at] - begin, trace.end[at] - begin) for mark, at in marks if mark
    ]
    return [
        *(Span("host", name, float(a), float(b)) for name, a, b in parts),
        *(Span("kernels", "a kernel", a, b) for a, b in ran.tolist()),
    ]
