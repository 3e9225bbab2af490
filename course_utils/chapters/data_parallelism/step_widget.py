"""A widget: the timeline of a data-parallel step, and its efficiency, for a cluster you choose."""

from dataclasses import replace
from functools import partial

import ipywidgets as widgets

from course_utils.chapters.collectives.costs import Link
from course_utils.chapters.data_parallelism.scaling import Cluster, efficiency, step_spans
from course_utils.core.measurement import format_ratio
from course_utils.figures.controls import LOOK, Controls, slider
from course_utils.figures.style import Picture
from course_utils.figures.timeline import draw

FLOPS_PER_S = 4e14  # what published trainings get from an H100 in BF16 (MFU of about 0.4)
LATENCY = 5e-6
BUCKET_BYTES = 25e6  # DDP's default
LINKS = {"10 Gbit/s": 1.25e9, "100 Gbit/s": 12.5e9, "400 Gbit/s": 50e9, "NVLink": 450e9}


def step_timeline(measured: float | None = None) -> Controls:
    """Ranks, tokens, parameters, link and overlap, over the two rows of one step.

    `measured` is an efficiency of the reader's own, to be shown beside the predicted one.
    """
    return Controls(
        partial(draw_step, measured=measured),
        "One step: forward and backward on one row, the buckets' all_reduces on the other",
        ranks=slider("ranks", [2**k for k in range(1, 11)], 8),
        tokens=slider("tokens a rank", [2**k for k in range(9, 18)], 16384),
        millions=slider("parameters, millions", [124, 350, 1300, 7000], 350),
        link=slider("link of a rank", list(LINKS), "100 Gbit/s"),
        overlap=widgets.Checkbox(True, description="overlap with the backward pass", **LOOK),
    )


def draw_step(
    ranks: int,
    tokens: int,
    millions: int,
    link: str,
    overlap: bool,
    measured: float | None,
) -> tuple[Picture, str]:
    """The step's timeline, and as HTML its efficiency and the reader's own beside it.

    A step takes 6 FLOP a token and parameter, and sends gradients in BF16.
    """
    flops, n_bytes, buckets = _step(tokens, millions)
    spans = step_spans(_cluster(ranks, link), flops, n_bytes, buckets, overlap)
    if buckets > 20:
        spans = [replace(span, note="") if span.row == "network" else span for span in spans]
    computing = sum(span.seconds for span in spans if span.row == "compute")
    share = computing / max(span.end for span in spans)
    hidden = "hidden where they can be" if overlap else "after the backward pass"
    title = f"{ranks} ranks, {buckets} buckets, {hidden}: efficiency {share:.0%}"
    said = f"efficiency <b>{share:.0%}</b>: {ranks} ranks do the work of {ranks * share:.1f}"
    own = "" if measured is None else f" · your ranks, measured: <b>{format_ratio(measured)}</b>"
    return draw(spans, title, ["compute", "network"], exact=True), said + own


def efficiency_by_link(ranks: int, tokens: int, millions: int) -> dict[str, float]:
    """The efficiency that the widget shows with overlap, for each of its links."""
    return {link: efficiency(_cluster(ranks, link), *_step(tokens, millions)) for link in LINKS}


def _cluster(ranks: int, link: str) -> Cluster:
    return Cluster(ranks, FLOPS_PER_S, Link(LATENCY, 1 / LINKS[link]))


def _step(tokens: int, millions: int) -> tuple[float, float, int]:
    """FLOP and gradient bytes of a rank's step, and the buckets that they are sent in."""
    n_bytes = 2e6 * millions
    return 6e6 * tokens * millions, n_bytes, max(1, round(n_bytes / BUCKET_BYTES))
