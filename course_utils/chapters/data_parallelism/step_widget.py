"""A widget: the timeline of a data-parallel step, and its efficiency, for a cluster you choose."""

from collections.abc import Callable
from functools import cache, partial
from itertools import accumulate

import ipywidgets as widgets
import torch

from course_utils.chapters.collectives.costs import Link, ring_seconds
from course_utils.chapters.data_parallelism.scaling import BACKWARD, step_spans
from course_utils.figures.controls import LOOK, Controls, slider
from course_utils.figures.style import Picture
from course_utils.figures.timeline import draw
from course_utils.workloads.gpt import GPT, GPTConfig

LATENCY = 5e-6
LINKS = {"10 Gbit/s": 1.25e9, "100 Gbit/s": 12.5e9, "400 Gbit/s": 50e9, "NVLink": 450e9}
GPTS = {"GPT small": (12, 768), "GPT medium": (24, 1024), "GPT XL": (48, 1600)}  # layers, width
Buckets = Callable[[list[int], int, int], list[int]]


def step_timeline(ddp_buckets: Buckets) -> Controls:
    """Makes the widget: controls of the cluster and the model above the two rows of a step.

    `ddp_buckets` gives the bytes of the buckets from those of the parameters, in FP32, from the
    limit of the first bucket and that of the others.
    """
    return Controls(
        partial(draw_step, ddp_buckets),
        "One step: forward and backward on one row, the buckets' all_reduces on the other",
        ranks=slider("ranks", [2**k for k in range(1, 11)], 8),
        model=slider("model", list(GPTS), "GPT small"),
        milliseconds=slider("C, ms", [5, 11, 23, 45, 90, 180, 360, 720], 45),
        cap=slider("bucket_cap_mb", [25, 50, 100, 200, 400], 25),
        link=slider("link of a rank", list(LINKS), "100 Gbit/s"),
        overlap=widgets.Checkbox(True, description="overlap with the backward pass", **LOOK),
    )


@cache
def parameter_bytes(model: str) -> tuple[int, ...]:
    """Bytes of a GPT's parameters in FP32, from the first layer on; its embedding comes first."""
    layers, width = GPTS[model]
    with torch.device("meta"):
        gpt = GPT(GPTConfig(50257, 1024, layers, width // 64, width))
    return tuple(p.nbytes for p in gpt.parameters())


def draw_step(
    ddp_buckets: Buckets,
    ranks: int,
    model: str,
    milliseconds: int,
    cap: int,
    link: str,
    overlap: bool,
) -> tuple[Picture, str]:
    """Draws the step, and returns its efficiency as HTML.

    Two thirds of a step are its backward pass. Gradients are sent in BF16, over a ring.
    """
    sizes, compute = list(parameter_bytes(model)), milliseconds / 1000
    backward = BACKWARD * compute
    buckets = ddp_buckets(sizes, (1 if cap == 25 else cap) * 2**20, cap * 2**20)
    passed = [*accumulate(buckets, initial=sizes[0])][1:]  # the embedding is used first, too
    ready = [backward * min(1, done / sum(sizes)) for done in passed]
    wire = Link(LATENCY, 1 / LINKS[link])
    took = [ring_seconds(wire, ranks, size / 2) for size in buckets]
    spans = step_spans(compute, backward, ready, took, overlap)
    share = compute / max(span.end for span in spans)
    hidden = "hidden where they can be" if overlap else "after the backward pass"
    title = f"{ranks} ranks, {link}: {len(buckets)} buckets, {hidden}, efficiency {share:.0%}"
    said = f"efficiency <b>{share:.0%}</b>: {ranks} ranks do the work of {ranks * share:.1f}"
    return draw(spans, title, exact=True, colours={"all_reduce": "#009E73"}), said
