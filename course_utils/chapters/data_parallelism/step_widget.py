"""A widget: the timeline of a data-parallel step, and its efficiency, for a cluster you choose."""

from dataclasses import replace

import ipywidgets as widgets

from course_utils.chapters.collectives.costs import Link
from course_utils.chapters.data_parallelism.scaling import Cluster, step_spans
from course_utils.figures.controls import LOOK, Controls, slider
from course_utils.figures.style import Picture
from course_utils.figures.timeline import draw

FLOPS_PER_S = 4e14  # what published trainings get from an H100 in BF16 (MFU of about 0.4)
LATENCY = 5e-6
LINKS = {"10 Gbit/s": 1.25e9, "100 Gbit/s": 12.5e9, "400 Gbit/s": 50e9, "NVLink": 450e9}


def step_timeline() -> Controls:
    """Makes the widget: controls of the cluster and the model above the two rows of a step."""
    return Controls(
        draw_step,
        "One step: forward and backward on one row, the buckets' all_reduces on the other",
        ranks=slider("ranks", [2**k for k in range(1, 11)], 8),
        tokens=slider("tokens a rank", [2**k for k in range(9, 18)], 16384),
        millions=slider("parameters, millions", [124, 350, 1300], 350),
        bucket=slider("bucket_cap_mb", [25, 50, 100, 200, 400], 25),
        link=slider("link of a rank", list(LINKS), "100 Gbit/s"),
        overlap=widgets.Checkbox(True, description="overlap with the backward pass", **LOOK),
    )


def draw_step(
    ranks: int,
    tokens: int,
    millions: int,
    bucket: int,
    link: str,
    overlap: bool,
) -> tuple[Picture, str]:
    """Draws the step, and returns its efficiency as HTML.

    A step takes 6 FLOP a token and parameter. Gradients are cut into buckets of FP32 and sent in
    BF16, as DDP does under its `bf16_compress_hook`.
    """
    flops, n_bytes = 6e6 * tokens * millions, 2e6 * millions
    buckets = max(1, round(4 * millions / bucket))
    cluster = Cluster(ranks, FLOPS_PER_S, Link(LATENCY, 1 / LINKS[link]))
    spans = step_spans(cluster, flops, n_bytes, buckets, overlap)
    if buckets > 20:
        spans = [replace(span, note="") if span.row == "network" else span for span in spans]
    computing = sum(span.seconds for span in spans if span.row == "compute")
    share = computing / max(span.end for span in spans)
    hidden = "hidden where they can be" if overlap else "after the backward pass"
    title = f"{ranks} ranks, {buckets} buckets, {hidden}: efficiency {share:.0%}"
    said = f"efficiency <b>{share:.0%}</b>: {ranks} ranks do the work of {ranks * share:.1f}"
    return draw(spans, title, exact=True, colours={"all_reduce": "#009E73"}), said
