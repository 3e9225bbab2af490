"""Checkers for chapter 14, "Tensor and pipeline parallelism"."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, pairwise
from typing import Any

import torch
from torch import Tensor

from course_utils.chapters.sharding.counted_net import CountedNet, play, ring_bytes
from course_utils.lesson.answers import against, as_list, as_numbers, compare, shown
from course_utils.lesson.exercises import Wrong, exercise

# ---- The exercise on tensor parallelism: a block on several ranks, against the whole
# one.

CUT = {"up": 1, "up_bias": 0, "down": 0, "down_bias": None}  # along which dimension, if at all
NAMES = ("y", "grad_x", *(f"the gradient of {name}" for name in CUT))
DIMENSIONS = (None, None, *CUT.values())
CLOSE = 1e-4


@dataclass(frozen=True)
class Ran:
    """What a rank made, in the order of NAMES; its calls and the bytes it sent, each way."""

    made: list[Any]
    calls: dict[str, tuple[str, int]]


def judge(block: Callable[..., Any], n: int) -> None:
    """Runs a block and its backward pass on `n` ranks. Raises: Wrong for what isn't right."""
    x, weights, grad = draw()
    shards = [cut(w, n, along) for w, along in zip(weights, CUT.values(), strict=True)]

    def work(net: CountedNet) -> Ran:
        shard = tuple(parts[net.rank].clone() for parts in shards)
        return _run(block, x.clone(), shard, grad.clone(), net)

    found, case = play(n, work), f"{n} ranks: " if n > 1 else "1 rank: "
    for place, made in enumerate(whole(x, weights, grad)):
        got = [ran.made[place] for ran in found]
        _require(f"{case}{NAMES[place]}", got, cut(made, n, DIMENSIONS[place]))
    most = {way: ring_bytes(like.numel(), n, times=2) for way, like in _sent(x, grad).items()}
    for rank, ran in enumerate(found):
        for way, (calls, sent) in ran.calls.items():
            if sent > most[way]:
                sends = f"rank {rank} sends {sent} bytes {way} ({calls})"
                raise Wrong(f"{case}{sends}, want the {most[way]} of one all_reduce")


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
    """Each rank's part; the whole for each where it isn't cut."""
    return [tensor] * n if along is None else list(tensor.chunk(n, along))


def _sent(x: Tensor, grad: Tensor) -> dict[str, Tensor]:
    """What is added up over the ranks, each way: one of y's shape, and one of x's."""
    return {"forwards": grad, "backwards": x}


def _run(
    block: Callable[..., Any], x: Tensor, shard: tuple[Tensor, ...], grad: Tensor, net: CountedNet
) -> Ran:
    y, backward = _parts(block(x, shard, net), 2, "y and backward")
    if not callable(backward):
        raise Wrong(f"you return {shown(backward)} beside y, want the function backward(grad)")
    y = y.clone() if isinstance(y, Tensor) else y
    calls = {"forwards": (", ".join(net.calls), net.sent_bytes)}
    net.reset()
    grad_x, gradients = _parts(backward(grad), 2, "grad_x and the gradients, from backward")
    made = [y, grad_x, *_parts(gradients, len(CUT), f"gradients of {', '.join(CUT)}")]
    return Ran(made, calls | {"backwards": (", ".join(net.calls), net.sent_bytes)})


def _parts(answer: Any, count: int, want: str) -> list[Any]:
    found = list(answer) if isinstance(answer, tuple) else as_list(answer, want)
    if len(found) != count:
        raise Wrong(f"you return {len(found)} values, want {want}")
    return found


def _require(case: str, got: list[Any], wants: list[Tensor]) -> None:
    for rank, (part, want) in enumerate(zip(got, wants, strict=True)):
        why = partial(_why, got, wants, rank)
        compare(part, want, f"{case} on rank {rank}", CLOSE, CLOSE, why)


def _why(got: list[Any], wants: list[Tensor], rank: int) -> str:
    """What wrong parts tell by themselves: a whole that was added up, a term that wasn't."""
    n, part, want = len(wants), got[rank], wants[rank]
    near = partial(torch.allclose, rtol=CLOSE, atol=CLOSE)
    if n == 1 or not all(isinstance(x, Tensor) and x.shape == want.shape for x in got):
        return ""
    if near(part, n * want):
        return f": {n} times as much"
    if near(n * part, want):
        return f": a part in {n} of it"
    if near(torch.stack(got).sum(0), want):
        return ": a term of a sum, which was not added up"
    if want.dim() == 2 and near(part - want, (part - want)[:1].expand_as(want)):
        return ": off by the same in each row"
    return ""


# ---- Models to cut into stages: what an answer to the exercise is tried on, and judged by.

GPT_SMALL = [0, *[69] * 12, 308]  # MFLOP a token: embedding, blocks, head; about those of the page
EDGES: list[tuple[list[int], int]] = [
    ([5], 1),
    ([3, 1, 4, 1, 5], 1),
    ([2, 7, 1, 8], 4),
    ([0, 0, 0, 9], 2),
    ([0, 0, 0], 3),
    ([9, 1, 1, 1, 1, 1], 3),
    ([1, 1, 1, 1, 1, 9], 3),
    ([4, 4, 4, 5, 5, 5, 1], 3),
    (GPT_SMALL, 4),
]


def cuts_tried(balance: Callable[[list[int], int], Any]) -> str:
    """Tries `balance` on each edge, random costs and a model of 128 layers; says on what.

    Raises: Wrong for no cut, and for one whose largest part could be smaller.
    """
    drawn = [_drawn(random.randint(2, 14)) for _ in range(60)]
    large = [0, *random.choices(range(900, 1100), k=126), 3000]

    def answer(costs: list[int], ranks: int) -> int:
        layers = list(costs)
        return costliest(balance(costs, ranks), layers, ranks)

    def why(costs: list[int], ranks: int) -> str:
        return ", for the rank that costs most"

    against(answer, least_largest, [*EDGES, *drawn, (large, 16)], why=why)
    return f"{len(EDGES)} edges, {len(drawn)} random models, and one of 128 layers on 16 ranks"


def _drawn(layers: int) -> tuple[list[int], int]:
    """Costs with a few large ones among them, and a number of ranks that they are enough for."""
    costs = random.choices([0, 1, 2, 3, 5, 8, 13, 40], k=layers)
    return costs, random.randint(1, layers)


def costliest(answer: Any, costs: Sequence[int], ranks: int) -> int:
    """The cost of the costliest rank. Raises: Wrong for counts that aren't a cut of these costs."""
    counts = as_numbers(answer)
    you = f"of {shown(costs)} on {ranks} ranks you return {shown(counts)}"
    if len(counts) != ranks:
        raise Wrong(f"{you}, want {ranks} numbers of layers")
    if empty := [rank for rank, count in enumerate(counts) if count < 1]:
        raise Wrong(f"{you}: rank {empty[0]} has no layer, and would only pass on what it gets")
    if any(count % 1 for count in counts) or sum(counts) != len(costs):
        raise Wrong(f"{you}, which is {sum(counts):g} layers of {len(costs)}")
    ends = [0, *accumulate(map(int, counts))]
    return max(sum(costs[a:b]) for a, b in pairwise(ends))


def least_largest(costs: Sequence[int], ranks: int) -> int:
    """The largest sum of a contiguous part, in the best cut into `ranks` parts or fewer.

    For costs of 0 or more a part can be cut further and gets no larger: with as many layers as
    ranks, the best cut into exactly `ranks` parts that hold a layer each is as good. Bisection over
    the limit: filled one after the other, how many parts does it take?
    """
    low, high = max(costs), sum(costs)
    while low < high:
        limit = (low + high) // 2
        parts, room = 1, limit
        for cost in costs:
            if cost > room:
                parts, room = parts + 1, limit
            room -= cost
        low, high = (low, limit) if parts <= ranks else (limit + 1, high)
    return low


@exercise(
    "shard.wrong_collective",
    todo="write block(x, shard, net) as `broken` was meant: right on any number of ranks.",
    hints=(
        "On two ranks, write beside each line whether what it makes is whole on every rank, "
        "this rank's own part, or one of two terms of a sum.",
        "Only terms of a sum may be all_reduced. What is whole and is added up counts n times; "
        "what is a term and isn't added up is too little.",
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
    "shard.balance",
    todo="write balance(costs, ranks): layers a rank, so that the costliest costs least.",
    hints=(
        "The last rank takes the layers from some cut on. Whatever cut it is, the ranks before it "
        "should do their best with the rest: the same question, smaller.",
        "Or ask the other way: given a limit, how many ranks does it take, each filled until the "
        "next layer is too much? Look for the smallest limit for which they are enough.",
        "A rank without a layer is no rank: if your cut needs fewer ranks than there are, cut "
        "parts of several layers once more. No part gets dearer by that.",
    ),
)
def check_balance(balance: Callable[[list[int], int], Any]) -> str:
    """Edges, random costs with dear layers among them, and 128 layers on 16 ranks: any best cut."""
    return cuts_tried(balance)
