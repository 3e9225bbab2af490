"""Checkers for chapter 14, "Tensor and pipeline parallelism"."""

import random
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from course_utils.chapters.sharding.counted_net import CountedNet, play, ring_bytes
from course_utils.chapters.tensor_and_pipeline.pipeline_run import simulate
from course_utils.lesson.answers import as_list, compare, shown
from course_utils.lesson.exercises import Wrong, exercise

# ---- Tensor parallelism: a block on several ranks, against the whole one.

CUT = {"up": 1, "up_bias": 0, "down": 0, "down_bias": None}  # along which dimension, if at all
NAMES = ("y", "grad_x", *(f"the gradient of {name}" for name in CUT))
DIMENSIONS = (None, None, *CUT.values())
CLOSE = 1e-4


def judge(block: Callable[..., Any], n: int) -> None:
    """Runs a block and its backward pass on `n` ranks. Raises: Wrong for the first difference."""
    x, weights, grad = draw()
    shards = [cut(w, n, along) for w, along in zip(weights, CUT.values(), strict=True)]

    def work(net: CountedNet) -> tuple[list[Any], dict[str, tuple[str, int]]]:
        shard = tuple(parts[net.rank].clone() for parts in shards)
        return _run(block, x.clone(), shard, grad.clone(), net)

    found, case = play(n, work), f"{n} ranks: " if n > 1 else "1 rank: "
    for place, right in enumerate(whole(x, weights, grad)):
        got, wants = [results[place] for results, _ in found], cut(right, n, DIMENSIONS[place])
        for rank, (part, want) in enumerate(zip(got, wants, strict=True)):
            why = partial(_why, got, wants, rank)
            compare(part, want, f"{case}{NAMES[place]} on rank {rank}", CLOSE, CLOSE, why)
    summed = {"forwards": grad, "backwards": x}  # of y's shape and of x's
    for rank, (_, traffic) in enumerate(found):
        for way, (calls, sent) in traffic.items():
            most = ring_bytes(summed[way].numel(), n, times=2)
            if sent > most:
                sends = f"rank {rank} sends {sent} bytes {way} ({calls})"
                raise Wrong(f"{case}{sends}, want the {most} of one all_reduce")


def draw() -> tuple[Tensor, list[Tensor], Tensor]:
    """Random x, weights and gradient of y: few rows, so that weights outweigh activations."""
    rows, width, hidden, out = 3, random.randint(5, 9), 4 * random.randint(4, 8), 4
    shapes = ((width, hidden), (hidden,), (hidden, out), (out,))
    return torch.randn(rows, width), [torch.randn(s) for s in shapes], torch.randn(rows, out)


def whole(x: Tensor, weights: list[Tensor], grad: Tensor) -> list[Tensor]:
    """y and the gradients, in the order of NAMES, on one device by torch's autograd."""
    inputs = [tensor.clone().requires_grad_() for tensor in (x, *weights)]
    x, up, up_bias, down, down_bias = inputs
    y = (x @ up + up_bias).relu() @ down + down_bias
    return [y.detach(), *torch.autograd.grad(y, inputs, grad)]


def cut(tensor: Tensor, n: int, along: int | None) -> list[Tensor]:
    """Each rank's part, or the whole for each if it isn't cut."""
    return [tensor] * n if along is None else list(tensor.chunk(n, along))


def _run(
    block: Callable[..., Any], x: Tensor, shard: tuple[Tensor, ...], grad: Tensor, net: CountedNet
) -> tuple[list[Any], dict[str, tuple[str, int]]]:
    """A rank's results, in the order of NAMES, and its calls and bytes sent, each way."""
    y, backward = _parts(block(x, shard, net), 2, "y and backward")
    if not callable(backward):
        raise Wrong(f"you return {shown(backward)} beside y, want the function backward(grad)")
    y = y.clone() if isinstance(y, Tensor) else y
    calls = {"forwards": (", ".join(net.calls), net.sent_bytes)}
    net.reset()
    grad_x, gradients = _parts(backward(grad), 2, "grad_x and the gradients, from backward")
    made = [y, grad_x, *_parts(gradients, len(CUT), f"gradients of {', '.join(CUT)}")]
    return made, calls | {"backwards": (", ".join(net.calls), net.sent_bytes)}


def _parts(answer: Any, count: int, want: str) -> list[Any]:
    found = list(answer) if isinstance(answer, tuple) else as_list(answer, want)
    if len(found) != count:
        raise Wrong(f"you return {len(found)} values, want {want}")
    return found


def _why(got: list[Any], wants: list[Tensor], rank: int) -> str:
    """Names the mistake that wrong parts reveal, such as a whole that was summed."""
    n, part, want = len(wants), got[rank], wants[rank]
    near = partial(torch.allclose, rtol=CLOSE, atol=CLOSE)
    if n == 1 or not all(isinstance(x, Tensor) and x.shape == want.shape for x in got):
        return ""
    if near(part, n * want):
        return f": {n} times as much"
    if near(n * part, want):
        return f": a part in {n} of it"
    if near(torch.stack(got).sum(0), want):
        return ": a term of a sum, which was not summed"
    if want.dim() == 2 and near(part - want, (part - want)[:1].expand_as(want)):
        return ": off by the same in each row"
    return ""


@exercise(
    "shard.wrong_collective",
    todo="write block(x, shard, net) as `broken` was meant: right on any number of ranks.",
    hints=(
        "For two ranks, write beside each line whether its result is whole on every rank, this "
        "rank's own part, or one of two terms of a sum.",
        "Only terms of a sum may be all_reduced. A whole that is summed counts n times; a term "
        "that isn't summed is too little.",
        "hidden @ down is a term, down_bias is whole. grad is whole, so grad.sum(0) is, too; "
        "grad_hidden is this rank's columns, and grad_hidden @ up.T a term.",
    ),
)
def check_wrong_collective(block: Callable[..., Any]) -> str:
    """On 1, 2 and 4 ranks: output and gradients of the whole block, an all_reduce each way."""
    for n in (1, 2, 4):
        judge(block, n)
    return (
        "1, 2 and 4 ranks: the whole block's output, its gradients of x and of every shard, and "
        "the bytes of one all_reduce each way"
    )


@exercise(
    "shard.one_f_one_b",
    todo="write one_f_one_b(ranks, batches): a list of actions for each rank.",
    hints=(
        "How many forward passes can rank r do before the first backward pass reaches it? The "
        "last rank needs none but its own, the rank before one more.",
        "After min(p - 1 - r, m) forwards, repeat for each backward: the next forward, if there "
        "is one left, then the next backward.",
    ),
)
def check_one_f_one_b(answer: Callable[[int, int], Any]) -> str:
    """Edges and random sizes: no deadlock, a step as short as GPipe's, 1F1B's activations."""
    sizes = [(1, 1), (1, 3), (2, 1), (2, 2), (4, 2), (3, 7), (4, 8), (8, 16)]
    sizes += [(random.randint(2, 6), random.randint(2, 20)) for _ in range(4)]
    for ranks, batches in sizes:
        judge_schedule(answer(ranks, batches), ranks, batches)
    return (
        f"{len(sizes)} pipelines of up to 8 ranks: no deadlock, idle for (p - 1)/(m + p - 1), and "
        "rank r holds at most p - r micro-batches"
    )


def judge_schedule(answer: Any, ranks: int, batches: int) -> None:
    """Simulates a schedule. Raises: Wrong if it deadlocks, takes longer or holds more than 1F1B."""
    case = f"ranks={ranks}, batches={batches}"
    orders = [as_list(order, "a list for each rank") for order in as_list(answer)]
    if len(orders) != ranks:
        raise Wrong(f"{case}: you return {len(orders)} lists, want {ranks}")
    schedule = [[(*as_list(one, "(rank, kind, i)"),) for one in order] for order in orders]
    for rank, order in enumerate(schedule):
        want = {(rank, kind, i) for kind in "FB" for i in range(batches)}
        if wrong := [one for one in order if one not in want]:
            raise Wrong(f"{case}: rank {rank} can't do {wrong[0]}")
        if missing := sorted(want - {*order}):
            raise Wrong(f"{case}: rank {rank} never does {missing[0]}")
    try:
        run = simulate(schedule)
    except ValueError as error:
        raise Wrong(f"{case}: {error}") from None
    for rank, held in enumerate(run.alive):
        if held > (most := min(ranks - rank, batches)):
            raise Wrong(f"{case}: rank {rank} holds {held} micro-batches, want at most {most}")
    if run.makespan > (least := 3 * (batches + ranks - 1)):
        raise Wrong(f"{case}: the step takes {run.makespan} forward passes, want {least}")
