"""Bytes of a training step, by a formula: no model, no GPU, at once, for any size.

Bytes are those that torch's allocator hands out (`max_memory_allocated`), without the CUDA
context. `memory.predict_bytes` runs the program instead, and is exact;
tests/planner/test_bytes_held.py compares them.
"""

import math
from dataclasses import dataclass

from course_utils.memory.prediction import cublas_workspace
from course_utils.planner.plans import CHUNK, Plan, update
from course_utils.planner.shapes import Shape
from snapshots_and_traces.allocator.rules import (
    LARGE_SEGMENT,
    LARGEST_SMALL,
    ROUND_LARGE,
    SMALLEST_OWN_SEGMENT,
)

# ---- What torch's allocator hands out beside what is asked for: the ends of its segments.


def granted(n_bytes: int) -> float:
    """The bytes that a tensor takes among others of its size.

    An end of up to 1 MiB isn't cut off: that of the tensor's own segment, or of the 20 MiB that
    several share, each then a part of it. Chapter 9 has the rules.
    """
    if n_bytes <= LARGEST_SMALL:
        return n_bytes
    if n_bytes < SMALLEST_OWN_SEGMENT:
        sharing = LARGE_SEGMENT // n_bytes
        end = LARGE_SEGMENT - sharing * n_bytes
    else:
        sharing, end = 1, -n_bytes % ROUND_LARGE
    return n_bytes + (end / sharing if end <= LARGEST_SMALL else 0)


def rounding_share(shape: Shape, itemsize: int) -> float:
    """Bytes allocated beside a model's matrices, as a share of them; of `itemsize` bytes each."""
    tables = [(shape.vocabulary, shape.width)] * (1 if shape.tied else 2)
    sizes = [itemsize * out * into for out, into in tables + shape.layers * shape.products]
    return sum(map(granted, sizes)) / sum(sizes) - 1


@dataclass(frozen=True)
class Moment:
    """The bytes held at one moment of a step, by part; every moment has the same parts."""

    name: str
    parts: dict[str, int]

    @property
    def total(self) -> int:
        return sum(self.parts.values())

    @property
    def always(self) -> int:
        """The bytes that no moment is without: weights and optimizer states."""
        return self.parts["weights"] + self.parts["optimizer states"]


def peak(plan: Plan) -> Moment:
    """The moment of the step that holds the most."""
    return max(moments(plan), key=lambda moment: moment.total)


def moments(plan: Plan) -> list[Moment]:
    """The moments that can be the peak, in their order in a step.

    Between them what is held changes by the same amount with each block: the most is at an end.
    """
    found = [*_at_the_logits(plan), *_in_a_segment(plan), _at_the_embeddings(plan)]
    if plan.format.casts and plan.ranks == 1:
        found = [_at_the_loss(plan), *found]
    return found if plan.in_backward else [*found, _in_the_step(plan)]


def _at_the_loss(plan: Plan) -> Moment:
    """Under autocast the forward pass ends with casts of all weights, which are let go then.

    Beside them are the logits in BF16, their log-probabilities in BF16 and in FP32.
    """
    shape = plan.shape
    rows = min(CHUNK, plan.tokens) if plan.few_logits else plan.tokens
    return _moment(
        plan,
        "at the end of the forward pass, at the loss",
        half=shape.layers * shape.block_matrices + shape.head,
        gradients=_earlier(plan),
        activations=_blocks(plan, shape.layers) + _ends(plan),
        logits=0 if shape.labels else 8 * rows * shape.vocabulary,
    )


def _at_the_logits(plan: Plan) -> list[Moment]:
    """The loss's backward begins: everything is kept, and the gradient of the logits is made.

    Then that of the output's matrix: of a loss in chunks, beside the sum of those before. (Under
    autocast the chunks share one cast of it, so their sum is BF16.) Last, in the weights' format,
    it may be used at once.
    """
    shape, form, tokens = plan.shape, plan.format, plan.tokens
    matrices = shape.head
    if plan.checkpointing == "none" and plan.ranks == 1:
        matrices += shape.layers * shape.block_matrices
    rows = min(CHUNK, tokens) if plan.few_logits else tokens
    logits = 0 if shape.labels else rows * shape.vocabulary
    one = shape.head * form.inner
    before = one if tokens > rows else 0
    beside = one if form.casts else 0
    if plan.in_backward and not shape.tied:
        beside = max(beside, round(update(plan.optimizer, plan).made * shape.head))
    stages = (
        (round(4 * logits * (form.loss_kept + form.loss_made)), before, matrices),
        (logits * form.inner, before + one, matrices),
        (0, shape.head * form.weights // plan.ranks + beside, matrices - shape.head),
    )
    return [
        _moment(
            plan,
            "at the start of the backward pass, at the logits",
            half=half,
            gradients=_earlier(plan) + gradients,
            activations=_blocks(plan, shape.layers) + _ends(plan),
            logits=held,
            temporaries=tokens * shape.width * form.residual if plan.few_logits else 0,
        )
        for held, gradients, half in stages
    ]


def _in_a_segment(plan: Plan) -> list[Moment]:
    """The last segment's backward, the first's, and the end of that."""
    layers, size = plan.shape.layers, plan.segment
    first = min(size, layers)
    last = layers - size * (math.ceil(layers / size) - 1)
    return [
        _in_block(plan, "in the backward of the last block", layers, last, 0),
        _in_block(plan, "in the backward of the first block", first, first, layers - first),
        _in_block(plan, "in the backward of the first block", 1, 1, layers - 1),
    ]


def _in_block(plan: Plan, name: str, left: int, again: int, done: int) -> Moment:
    """`left` blocks wait, `again` of them stand in memory whole, the gradients of `done` exist."""
    shape, form = plan.shape, plan.format
    out, into = shape.products[-1]
    gradients = shape.embeddings - (0 if shape.tied else shape.head)
    if done == 0 or plan.in_backward:
        gradients = shape.head if shape.tied else 0
    gradients += 0 if plan.in_backward else done * shape.block_parameters
    gradients += out * into  # this block's first
    if plan.accumulates:
        gradients = 2 * out * into  # one to be added
    whole = sum(form.n_bytes(kept) for kept in plan.block)
    held = sum(form.n_bytes(kept) for kept in plan.kept)
    recomputed = 0 if plan.checkpointing == "none" else plan.tokens * (again * whole - held)
    widths = shape.width * form.residual + shape.hidden * form.inner * (1 + shape.gated)
    beside = 0
    if form.casts:  # a weight's gradient before it is FP32, or the residual stream's cast
        beside = form.inner * max(out * into, plan.tokens * shape.width)
    if plan.in_backward:  # before what flows on through a gate is there
        made = round(out * into * update(plan.optimizer, plan).made)
        beside += max(0, made - plan.tokens * shape.hidden * form.inner * shape.gated)
    casts = left if plan.checkpointing == "none" and plan.ranks == 1 else again
    return _moment(
        plan,
        name,
        half=casts * shape.block_matrices,
        gradients=_earlier(plan) + gradients * form.weights // plan.ranks,
        activations=_blocks(plan, left),
        recomputed=recomputed,
        temporaries=plan.tokens * widths + beside,
    )


def _at_the_embeddings(plan: Plan) -> Moment:
    """The last gradient, of the tokens; a second, and their sum, where the output shares them."""
    shape, form = plan.shape, plan.format
    table = shape.vocabulary * shape.width
    gradients = shape.parameters * form.weights // plan.ranks
    if plan.in_backward:
        gradients = table * form.weights
    if (shape.tied and not shape.labels) or plan.accumulates:
        gradients += 2 * table * form.weights
    elif plan.in_backward:
        gradients += round(update(plan.optimizer, plan).made * table)
    return _moment(
        plan,
        "at the end of the backward pass, at the embeddings",
        gradients=gradients,
        temporaries=plan.tokens * shape.width * form.residual,
    )


def _in_the_step(plan: Plan) -> Moment:
    shape, form = plan.shape, plan.format
    changed = update(plan.optimizer, plan)
    largest = max(shape.vocabulary * shape.width, *(out * into for out, into in shape.products))
    many = shape.parameters / plan.ranks if changed.whole else largest
    return _moment(
        plan,
        "in the optimizer's step",
        gradients=shape.parameters * form.weights // plan.ranks,
        temporaries=round(changed.made * many),
    )


def _moment(
    plan: Plan,
    name: str,
    half: int = 0,
    gradients: int = 0,
    activations: int = 0,
    recomputed: int = 0,
    logits: int = 0,
    temporaries: int = 0,
) -> Moment:
    """The parts of a moment, with those that are always there; `half` counts cast numbers."""
    shape, form = plan.shape, plan.format
    states = update(plan.optimizer, plan).states * shape.parameters
    if plan.ranks > 1:  # gathered: what lies outside the blocks, this block and the next
        half = shape.embeddings + 2 * shape.block_matrices
    parts = {
        "weights": shape.parameters * form.weights // plan.ranks,
        "half copies": half * form.inner if form.casts else 0,
        "gradients": gradients,
        "optimizer states": round(states / plan.ranks),
        "activations kept": activations,
        "recomputed block": recomputed,
        "logits and their gradients": logits,
        "temporaries": temporaries,
        "cuBLAS workspace": 2 * cublas_workspace(plan.capability),
    }
    return Moment(name, parts | {"rounding": _rounding(plan, parts)})


def _rounding(plan: Plan, parts: dict[str, int]) -> int:
    """Bytes that the allocator adds to the weights, and to what has their shapes."""
    if plan.ranks > 1:
        return 0
    size = plan.format.weights
    like_weights = parts["weights"] + parts["gradients"]
    if update(plan.optimizer, plan).states == 2 * size:
        like_weights += parts["optimizer states"]
    halves = parts["half copies"] * rounding_share(plan.shape, plan.format.inner)
    return round(like_weights * rounding_share(plan.shape, size) + halves)


def _blocks(plan: Plan, layers: int) -> int:
    """Bytes that `layers` blocks keep from their forward pass."""
    one = plan.tokens * sum(plan.format.n_bytes(kept) for kept in plan.kept)
    return math.ceil(layers / plan.segment) * one


def _ends(plan: Plan) -> int:
    """Bytes that the last norm keeps: its input, its output, its statistics."""
    shape, form = plan.shape, plan.format
    if shape.labels:
        return 0
    given = form.residual if plan.few_logits else form.inner
    return plan.tokens * (shape.width * (form.residual + given) + 2 * form.residual)


def _earlier(plan: Plan) -> int:
    """Gradients that are there when the backward pass begins."""
    return plan.shape.parameters * plan.format.weights if plan.accumulates else 0
