"""Chapter 13's exercise on tensor parallelism: a block on several ranks, against the whole one."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from course_utils.chapters.collectives.exercises import holds
from course_utils.chapters.sharding.counted_net import CountedNet, play, ring_bytes
from course_utils.lesson.answers import as_list, shown
from course_utils.lesson.exercises import Wrong

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
        _require(f"{case}{NAMES[place]} ", got, cut(made, n, DIMENSIONS[place]))
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
        if not holds(part, want, rtol=CLOSE, atol=CLOSE):
            raise Wrong(f"{case}{_difference(part, want)} on rank {rank}{_why(got, wants, rank)}")


def _difference(got: Any, want: Tensor) -> str:
    """The first place that differs, in words."""
    if not isinstance(got, Tensor) or got.shape != want.shape:
        return f"is {shown(got)}, want a tensor of shape {list(want.shape)}"
    place = torch.nonzero(~torch.isclose(got, want, rtol=CLOSE, atol=CLOSE))[0].tolist()
    return f"has {got[tuple(place)]:.4g} in place {place}, want {want[tuple(place)]:.4g}"


def _why(got: list[Any], wants: list[Tensor], rank: int) -> str:
    """What wrong parts tell by themselves: a whole that was added up, a term that wasn't."""
    n, part, want = len(wants), got[rank], wants[rank]
    if n == 1 or not all(isinstance(x, Tensor) and x.shape == want.shape for x in got):
        return ""
    if holds(part, n * want, rtol=CLOSE, atol=CLOSE):
        return f": {n} times as much"
    if holds(n * part, want, rtol=CLOSE, atol=CLOSE):
        return f": a part in {n} of it"
    if holds(torch.stack(got).sum(0), want, rtol=CLOSE, atol=CLOSE):
        return ": a term of a sum, which was not added up"
    if want.dim() == 2 and holds(part - want, (part - want)[:1].expand_as(want), atol=CLOSE):
        return ": off by the same in each row"
    return ""
