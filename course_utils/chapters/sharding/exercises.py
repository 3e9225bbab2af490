"""Checkers for chapter 13, "Sharding"."""

import random
from collections.abc import Callable
from typing import Any

import torch

from course_utils.chapters.sharding import step_problems
from course_utils.lesson.answers import against
from course_utils.lesson.exercises import exercise

KINDS = {  # of states: type, how many of them, and the stage from which they are sharded
    "weights": (torch.bfloat16, 1, 3),
    "gradients": (torch.bfloat16, 1, 2),
    "master weights and moments": (torch.float32, 3, 1),
}


def held_bytes(parameters: int, ranks: int, stage: int) -> dict[str, int]:
    """Returns a rank's bytes by kind, of tensors that hold no numbers, cut by torch.chunk.

    FSDP2 cuts so, and pads every shard to the first one's size.
    """
    held = {}
    for kind, (dtype, copies, first_stage) in KINDS.items():
        whole = torch.empty(parameters, dtype=dtype, device="meta")
        part = whole.chunk(ranks)[0] if stage >= first_stage else whole
        held[kind] = copies * part.nbytes
    return held


@exercise(
    "shard.bytes",
    todo="write padded_bytes(parameters, ranks, stage), to the byte.",
    hints=(
        "Which of the three kinds does each stage shard? Stage 1 the optimizer's 12 bytes a "
        "parameter, stage 2 the gradients too, stage 3 the weights too.",
        "A shard has ⌈parameters / ranks⌉ numbers: -(-parameters // ranks). The bytes of what "
        "isn't sharded count parameters, those of what is count the shard.",
    ),
)
def check_bytes(padded_bytes: Callable[[int, int, int], Any]) -> str:
    """Each stage, for 1 to 405 billion parameters, most of which the ranks don't divide."""
    cases = [(64, 8), (10, 4), (9, 8), (1, 8), (1, 1), (4096 * 7, 7)]
    cases += [(random.randint(10**9, 10**10), n) for n in (2, 3, 8, 60)]
    cases += [(random.randint(4 * 10**11, 405 * 10**9), 1024)]

    def reference(parameters: int, ranks: int, stage: int) -> int:
        return sum(held_bytes(parameters, ranks, stage).values())

    def why(*case: int) -> str:
        parts = [f"{size:,} of {kind}" for kind, size in held_bytes(*case).items()]
        return f" ({', '.join(parts)})"

    against(
        padded_bytes, reference, [(*case, stage) for case in cases for stage in range(4)], why=why
    )
    return f"{len(cases)} models and numbers of ranks, 4 stages each, to the byte"


@exercise(
    "shard.zero1",
    todo="write step(weights, gradient, state, net): each rank updates one shard, keeps its state.",
    hints=(
        "reduce_scatter wants n equal parts: F.pad(gradient, (0, spare)) puts zeros at the end. "
        "It adds up; the mean is an n-th of it.",
        "With the own part of the mean: the own part of the momentum, then of the weights, "
        "weights[net.rank * size :][:size], padded as well. all_gather gives the padded whole.",
        "A view keeps the whole tensor that it looks at alive: what you put into state must be "
        "a shard itself, not a part of something whole.",
    ),
)
def check_zero1(step: Callable[..., Any]) -> str:
    """Three steps on 2, 3 and 4 ranks: the weights of torch's SGD on one device, bytes, state."""
    for n, numbers in ((2, 8), (3, 3 * random.randint(3, 9) + 1), (4, 24), (4, 27), (4, 2)):
        step_problems.judge(step, n, numbers)
    return (
        "2, 3 and 4 ranks, lengths that divide and don't: one device's weights after each of "
        "three steps, no more bytes than an all_reduce, and a shard of momentum"
    )


@exercise(
    "shard.zero2",
    todo="write ready(unit, gradient, kept, net): reduce a unit's gradient, keep its shard.",
    hints=(
        "Pad as in exercise 2, and reduce_scatter at once: a later call brings another unit.",
        "The second micro-batch brings the same unit again: its mean is added to kept[unit].",
    ),
)
def check_zero2(ready: Callable[..., Any]) -> str:
    """Three micro-batches on 2 to 4 ranks: the shards of the summed means, bytes sent and kept."""
    odd = 3 * random.randint(3, 9) + 1
    for n, last in ((2, 8), (3, odd), (4, 27)):
        step_problems.judge_ready(ready, n, {"head": last, "block 1": 12, "block 0": 12}, 3)
    return "2, 3 and 4 ranks, three units, three micro-batches: shards of the sum of their means"
