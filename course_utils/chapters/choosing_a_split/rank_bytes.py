"""Bytes that a rank holds at the peak of a step, by part."""

from course_utils.chapters.choosing_a_split import steps
from course_utils.chapters.choosing_a_split.steps import Work, stage_layers
from course_utils.planner.splits import Split

PARTS = (
    "weights",
    "gradients",
    "optimizer states",
    "gathered weights",
    "unreduced gradients",
    "activations",
    "logits",
    "a layer's backward",
)


def held_bytes(work: Work, split: Split) -> dict[str, float]:
    """Bytes by PARTS on the fullest rank: FP32 weights, gradients and Adam's states, all sharded.

    Gathered is one layer and the next, or with a pipeline the whole stage, whose gradients aren't
    reduced before the last micro-batch. Activations: of a pipeline's first rank, where most
    micro-batches are in flight. The logits, or a layer's backward (what it recomputes, its whole
    gradients in BF16, and in FP32 to be reduced), whichever is larger: they exist at different
    times. Left out: what the allocator can't use (chapter 10).
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
    tokens, plan = work.tokens(split), work.plan(split)
    kept, layer = (
        tokens * sum(plan.format.n_bytes(one) for one in some) for some in (plan.kept, plan.block)
    )
    each = 4 if work.compiled_loss else 12
    logits = each * tokens * shape.vocabulary if split.pipeline == 1 else 0.0
    again = max(0.0, layer - kept)
    if split.sharers > 1 and not later:
        again += (steps.GATHERED + steps.REDUCED) * shape.block_parameters / split.tensor
    return {
        "weights": 4 * shards,
        "gradients": 4 * shards,
        "optimizer states": 8 * shards,
        "gathered weights": steps.GATHERED * (stage if whole else min(two, stage)),
        "unreduced gradients": steps.REDUCED * stage if later and split.sharers > 1 else 0.0,
        "activations": kept * layers * in_flight(split),
        "logits": logits if logits > again else 0.0,
        "a layer's backward": again if again >= logits else 0.0,
    }


def in_flight(split: Split) -> float:
    """Micro-batches whose activations a pipeline's first rank keeps; 1 without a pipeline.

    1F1B: as many as stages. Interleaved, counted in chunks: 2(p − 1) + (chunks − 1)p + 1.
    """
    p, chunks = split.pipeline, split.chunks
    if p == 1:
        return 1
    begun = p if chunks == 1 else (2 * (p - 1) + (chunks - 1) * p + 1) / chunks
    return min(begun, split.micro_batches)
