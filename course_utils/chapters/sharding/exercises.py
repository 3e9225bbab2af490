"""Checkers for chapter 13, "Sharding"."""

import math
import random
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from course_utils.chapters.sharding.counted_net import CountedNet, play, ring_bytes
from course_utils.lesson.answers import against, compare
from course_utils.lesson.exercises import Wrong, exercise

# ---- Exercises on ZeRO-1 and ZeRO-2: steps on several ranks, against one device's.

STEPS, RATE, MOMENTUM = 3, 0.1, 0.9


def judge(step: Callable[..., Any], n: int, numbers: int) -> None:
    """Runs three steps on `n` ranks with so many weights. Raises: Wrong for what isn't right."""
    begin, gradients = torch.randn(numbers), torch.randn(STEPS, n, numbers)
    wanted = alone(begin, gradients.mean(1))

    def work(net: CountedNet) -> list[Any]:
        weights, state, after = begin.clone(), dict[str, Any](), []
        for mine in gradients:
            net.reset()
            step(weights, mine[net.rank].clone(), state, net)
            after.append((weights.clone(), kept_bytes(state), net.sent_bytes, net.calls))
        return after

    for rank, steps in enumerate(play(n, work)):
        before = begin
        for place, (weights, kept, sent, calls) in enumerate(steps):
            case = f"{n} ranks, {numbers} weights, step {place + 1}, rank {rank}: "
            _require_weights(case, weights, wanted[place], before)
            before = weights
            case = f"{n} ranks, {numbers} weights: rank {rank} "
            _require_little(case, kept, sent, ", ".join(calls), n, numbers)


def alone(begin: Tensor, gradients: Tensor) -> list[Tensor]:
    """Returns the weights after each step on one device, by torch's own SGD."""
    weights, after = begin.clone().requires_grad_(), []
    optimizer = torch.optim.SGD([weights], lr=RATE, momentum=MOMENTUM)
    for gradient in gradients:
        weights.grad = gradient
        optimizer.step()
        after.append(weights.detach().clone())
    return after


def judge_ready(ready: Callable[..., Any], n: int, sizes: Mapping[str, int], steps: int) -> None:
    """Runs `steps` micro-batches on `n` ranks, units of `sizes`. Raises: Wrong for a mistake."""
    given = {unit: torch.randn(steps, n, size) for unit, size in sizes.items()}
    where = f"{n} ranks, units of {', '.join(map(str, sizes.values()))}: "

    def work(net: CountedNet) -> Any:
        kept, whole = dict[Any, Any](), sum(4 * math.ceil(size / n) for size in sizes.values())
        for step in range(steps):
            for unit, size in sizes.items():
                net.reset()
                ready(unit, given[unit][step, net.rank].clone(), kept, net)
                sent, most = net.sent_bytes, ring_bytes(size, n)
                if sent > most:
                    calls = ", ".join(net.calls)
                    want = f"want {most}, one reduce_scatter"
                    raise Wrong(f"{where}a call sends {sent} bytes ({calls}), {want}")
                if (held := kept_bytes(kept)) > whole:
                    want = f"want {whole}, a shard of each; a view counts as what it looks at"
                    raise Wrong(f"{where}after a call `kept` holds {held} bytes, {want}")
        return kept

    for rank, kept in enumerate(play(n, work)):
        for unit, gradients in given.items():
            mean = torch.nn.functional.pad(gradients.mean(1).sum(0), (0, -sizes[unit] % n))
            if unit not in kept:
                raise Wrong(f"{where}rank {rank} has no kept[{unit!r}]; it has {[*kept]}")
            case = f"{where}rank {rank}, after {steps} micro-batches: kept[{unit!r}]"
            compare(kept[unit], mean.chunk(n)[rank], case, 1e-5, 1e-5)


def kept_bytes(state: Any) -> int:
    """Returns the bytes of a state's tensors and arrays; a view counts as all that it keeps alive.

    A single number is free. Containers and torch's optimizers are looked into.
    """
    found = list(_tensors(state))
    return sum({s.data_ptr(): s.nbytes() for s in map(Tensor.untyped_storage, found)}.values())


def _tensors(state: Any) -> list[Tensor]:
    if isinstance(state, torch.optim.Optimizer):
        return _tensors(list(state.state.values()))
    if isinstance(state, Mapping):
        return _tensors(list(state.values()))
    if isinstance(state, list | tuple | set):
        if state and all(isinstance(one, int | float) for one in state):
            return [torch.tensor(list(state))]
        return [x for one in state for x in _tensors(one)]
    if isinstance(state, np.ndarray):
        state = torch.from_numpy(state if state.base is None else np.asarray(state.base))
    return [state] if isinstance(state, Tensor) and state.numel() > 1 else []


def _require_weights(case: str, got: Tensor, want: Tensor, before: Tensor) -> None:
    def why() -> str:
        if torch.equal(got, before):
            return ": the weights of before; write into them, weights.copy_(…)"
        return ", as one device with the mean gradient has"

    compare(got, want, f"{case}the weights", 1e-5, 1e-5, why)


def _require_little(case: str, kept: int, sent: int, calls: str, n: int, numbers: int) -> None:
    """No more bytes than one reduce_scatter and one all_gather, no larger state than a shard."""
    most, shard = ring_bytes(numbers, n, times=2), 4 * math.ceil(numbers / n)
    if sent > most:
        sends = f"sends {sent} bytes in a step ({calls})"
        raise Wrong(f"{case}{sends}, want {most}: no more than an all_reduce of the gradient")
    if kept > shard and numbers > 1:
        keeps = f"keeps {kept} bytes in state between steps"
        raise Wrong(f"{case}{keeps}, want its shard's {shard}; a view counts as what it looks at")


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
        judge(step, n, numbers)
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
        judge_ready(ready, n, {"head": last, "block 1": 12, "block 0": 12}, 3)
    return "2, 3 and 4 ranks, three units, three micro-batches: shards of the sum of their means"
