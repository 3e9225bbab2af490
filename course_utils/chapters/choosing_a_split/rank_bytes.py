"""What a rank holds at the peak of a step, by part, and what it sends in a step, by axis."""

from course_utils.chapters.choosing_a_split.splits import Cluster, Split
from course_utils.chapters.choosing_a_split.steps import (
    GATHERED,
    REDUCED,
    Work,
    stage_layers,
    tensor_messages,
    tokens_a_rank,
)
from course_utils.core.evidence import Row

PARTS = (
    "weights",
    "gradients",
    "optimizer states",
    "gathered weights",
    "unreduced gradients",
    "activations",
    "logits",
    "a layer run again",
)


def held_bytes(work: Work, split: Split) -> dict[str, float]:
    """Bytes by PARTS on the fullest rank: FP32 weights, gradients and Adam's states, shards of all.

    Gathered is one layer and the next, or with a pipeline the whole stage, whose gradients aren't
    reduced before the last micro-batch. Activations: of a pipeline's first rank, where most
    micro-batches wait. The logits, or the layer that is run again, if that is larger: one of them
    is there at a time. Left out: what the allocator can't use (chapter 10).
    Raises: ValueError where sizes don't divide, or there are more stages than layers.
    """
    shape = work.shape
    layers = stage_layers(shape, split)
    table = shape.embeddings if split.pipeline == 1 else shape.vocabulary * shape.width
    stage = (layers * shape.block_parameters + table) / split.tensor
    two = (2 * shape.block_parameters + table) / split.tensor
    shards = stage / split.sharers
    whole = split.pipeline > 1 or work.keeps_gathered
    later = split.pipeline > 1 and split.micro_batches > 1
    tokens, plan = tokens_a_rank(work, split), work.plan(split)
    kept, layer = (
        tokens * sum(plan.format.n_bytes(one) for one in some) for some in (plan.kept, plan.block)
    )
    logits = 12 * tokens * shape.vocabulary if split.pipeline == 1 else 0.0
    again = max(0.0, layer - kept)
    return {
        "weights": 4 * shards,
        "gradients": 4 * shards,
        "optimizer states": 8 * shards,
        "gathered weights": GATHERED * (stage if whole else min(two, stage)),
        "unreduced gradients": REDUCED * stage if later and split.sharers > 1 else 0.0,
        "activations": kept * layers * waiting(split),
        "logits": logits if logits > again else 0.0,
        "a layer run again": again if again >= logits else 0.0,
    }


def waiting(split: Split) -> float:
    """Micro-batches that a pipeline's first rank has begun and not ended; 1 without a pipeline.

    1F1B: as many as stages. Interleaved, counted in chunks: 2(p − 1) + (chunks − 1)p + 1.
    """
    p, chunks = split.pipeline, split.chunks
    if p == 1:
        return 1
    begun = p if chunks == 1 else (2 * (p - 1) + (chunks - 1) * p + 1) / chunks
    return min(begun, split.micro_batches)


def sent_bytes(work: Work, split: Split) -> dict[str, float]:
    """Bytes that a rank sends in a step, by axis: "gather" shards' weights and gradients.

    Rings: an all_gather or a reduce_scatter of S bytes sends S(n−1)/n.
    """
    shape, micro = work.shape, split.micro_batches
    layers = stage_layers(shape, split)
    stage = (layers * shape.block_parameters + shape.embeddings / split.pipeline) / split.tensor
    once = split.pipeline > 1
    gathers = 1 if once or work.keeps_gathered else 2 * micro
    reduces = 1 if once else micro
    act = 2 * tokens_a_rank(work, split) * shape.width
    n, r, t, c = split.sharers, split.replicate, split.tensor, split.context
    keys = 4 * shape.kv_width * tokens_a_rank(work, split) * c
    rings = 4 if work.checkpointing == "every block" else 3
    on = split.pipeline > 1
    return {
        "gather": (gathers * GATHERED + reduces * REDUCED) * stage * (n - 1) / n,
        "replicate": 2 * reduces * REDUCED * stage / n * (r - 1) / r,
        "tensor": micro * layers * sum(tensor_messages(work.checkpointing)) * act * (t - 1),
        "context": micro * layers * rings * keys * (c - 1) / c,
        "pipeline": 2.0 * split.chunks * micro * act if on else 0.0,
    }


def ways(work: Work, split: Split, cluster: Cluster) -> list[Row]:
    """A row for each axis with more than one rank: its size, bytes sent in a step, and the link."""
    sent = sent_bytes(work, split)
    sizes = {"gather": split.sharers} | {
        axis: getattr(split, axis) for axis in ("replicate", "tensor", "context", "pipeline")
    }
    rows: list[Row] = []
    for axis, size in sizes.items():
        if size == 1:
            continue
        stride = split.stride("context" if axis == "gather" else axis)
        inside = cluster.members(size, stride) == size
        link = "inside a node" if inside else "between nodes"
        rows.append({"axis": axis, "ranks": size, "bytes": sent[axis], "link": link})
    return rows
