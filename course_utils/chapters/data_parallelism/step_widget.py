"""A widget: the timeline of a data-parallel step, and its efficiency, for a cluster you choose."""

from dataclasses import replace
from typing import Any

import ipywidgets as widgets

from course_utils.chapters.collectives.costs import Link
from course_utils.chapters.data_parallelism.scaling import Cluster, step_spans
from course_utils.core.measurement import format_ratio
from course_utils.figures.still import Still
from course_utils.figures.style import Picture
from course_utils.figures.timeline import draw

FLOPS_PER_S = 4e14  # what published trainings get from an H100 in BF16 (MFU of about 0.4)
LATENCY = 5e-6
BUCKET_BYTES = 25e6  # DDP's default
LINKS = {"10 Gbit/s": 1.25e9, "100 Gbit/s": 12.5e9, "400 Gbit/s": 50e9, "NVLink": 450e9}


def step_timeline(measured: float | None = None) -> Still:
    """Ranks, tokens, parameters, link and overlap, over the two rows of one step.

    `measured` is an efficiency of the reader's own, to be shown beside the predicted one.
    """
    style, layout = {"description_width": "150px"}, widgets.Layout(width="460px")
    look: dict[str, Any] = {"style": style, "layout": layout}
    powers = [2**k for k in range(1, 11)]
    ranks = widgets.SelectionSlider(options=powers, value=8, description="ranks", **look)
    tokens = widgets.SelectionSlider(
        options=[2**k for k in range(9, 18)], value=16384, description="tokens a rank", **look
    )
    millions = widgets.SelectionSlider(
        options=[124, 350, 1300, 7000], value=350, description="parameters, millions", **look
    )
    link = widgets.SelectionSlider(
        options=list(LINKS), value="100 Gbit/s", description="link of a rank", **look
    )
    overlap = widgets.Checkbox(True, description="overlap with the backward pass", **look)
    controls = [ranks, tokens, millions, link, overlap]
    picture = widgets.Image(format="png", layout=widgets.Layout(max_width="800px"))
    reading = widgets.HTML()

    def update(_change: Any = None) -> None:
        cluster = Cluster(ranks.value, FLOPS_PER_S, Link(LATENCY, 1 / LINKS[link.value]))
        drawn, share = picture_of(cluster, tokens.value, millions.value * 1e6, overlap.value)
        picture.value = drawn.png
        reading.value = explain(cluster, share, measured)

    for control in controls:
        control.observe(update, "value")
    update()
    alt = "One step: forward and backward on one row, the buckets' all_reduces on the other"
    return Still([*controls, picture, reading], picture, alt)


def picture_of(
    cluster: Cluster, tokens: int, parameters: float, overlap: bool
) -> tuple[Picture, float]:
    """The step's timeline, and its efficiency: 6 FLOP a token and parameter, BF16 gradients."""
    n_bytes, flops = 2 * parameters, 6 * tokens * parameters
    buckets = max(1, round(n_bytes / BUCKET_BYTES))
    spans = step_spans(cluster, flops, n_bytes, buckets, overlap)
    if buckets > 20:
        spans = [replace(span, note="") if span.row == "network" else span for span in spans]
    computing = sum(span.seconds for span in spans if span.row == "compute")
    share = computing / max(span.end for span in spans)
    hidden = "hidden where they can be" if overlap else "after the backward pass"
    title = f"{cluster.n} ranks, {buckets} buckets, {hidden}: efficiency {share:.0%}"
    return draw(spans, title, ["compute", "network"]), share


def explain(cluster: Cluster, share: float, measured: float | None) -> str:
    """The efficiency in words, and the reader's own beside it."""
    said = (
        f"efficiency <b>{share:.0%}</b>: {cluster.n} ranks do the work of {cluster.n * share:.1f}"
    )
    own = "" if measured is None else f" · your ranks, measured: <b>{format_ratio(measured)}</b>"
    return f"{said}{own}"
