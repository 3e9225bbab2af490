"""A loss in chunks, held against the plain one: value, gradients, logits that it holds, FLOPs."""

import random
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from course_utils.chapters.trading_compute_for_memory.counted import counted_flops
from course_utils.lesson.answers import close, shown
from course_utils.lesson.exercises import Wrong
from course_utils.memory.counting import count

VOCABULARY, WIDTH = 601, 4
COPIES = 6  # of a chunk's logits: its softmax, gradients, a mask, one-hot rows


def judge(chunked_loss: Callable[..., Any], n: int, chunk: int) -> None:
    """One loss of `n` rows, the second chunk's targets all ignored, times a factor backward.

    Raises: Wrong.
    """
    case, factor = f"{n} rows, chunk={chunk}: ", random.choice([0.25, 3.0])
    targets = torch.randint(VOCABULARY, (n,))
    targets[torch.rand(n) < 0.3] = -100
    targets[chunk : 2 * chunk] = -100
    targets[[0, -1]] = 0
    hidden = torch.randn(n, WIDTH, requires_grad=True)
    weight = torch.randn(VOCABULARY, WIDTH, requires_grad=True)
    with count(inputs=(hidden, weight, targets)) as counted:
        loss = chunked_loss(hidden, weight, targets, chunk)
        if not isinstance(loss, Tensor) or not loss.requires_grad:
            raise Wrong(f"{case}you return {shown(loss)}, want a tensor that can go backward")
        (factor * loss).backward()
    _compare(loss.item(), hidden, weight, targets, factor, case)
    _count_logits(counted, hidden, weight, chunk, case)
    flops = counted_flops(lambda: chunked_loss(hidden, weight, targets, chunk).backward())
    plain = 3 * 2 * n * VOCABULARY * WIDTH
    if flops > plain:
        raise Wrong(
            f"{case}{flops:,} FLOPs forward and backward, want the plain loss's {plain:,}: is a "
            "product computed twice?"
        )


def _compare(
    loss: float, hidden: Tensor, weight: Tensor, targets: Tensor, factor: float, case: str
) -> None:
    """With the plain loss in FP64."""
    given = {"hidden": hidden, "weight": weight}
    exact = {name: one.detach().double().requires_grad_() for name, one in given.items()}
    want = F.cross_entropy(exact["hidden"] @ exact["weight"].T, targets)
    want.backward()
    if not close(loss, want.item(), rel_tol=1e-5):
        raise Wrong(f"{case}the loss is {loss:.6g}, want {want.item():.6g}")
    for name, one in given.items():
        after = f"{case}after ({factor:g} * loss).backward(), {name}.grad is"
        if one.grad is None:
            raise Wrong(f"{after} None")
        off, alone = (_relative_error(one.grad, exact[name].grad, k) for k in (factor, 1.0))
        if not off < 1e-4:
            why = ": it is the gradient of loss alone" if alone < 1e-4 else ""
            raise Wrong(f"{after} off by {off:.0%}{why}")


def _relative_error(got: Tensor, want: Any, factor: float) -> float:
    return float((got - factor * want).norm() / (factor * want).norm())


def _count_logits(counted: count, hidden: Tensor, weight: Tensor, chunk: int, case: str) -> None:
    """Counts as logits what isn't a gradient, up to four of each, or a few numbers a row."""
    others = 4 * weight.nbytes + 4 * hidden.nbytes + 100 * len(hidden)
    held = counted.peak.total - counted.moments[0].total - others
    rows, most = held / (4 * VOCABULARY), COPIES * min(chunk, len(hidden))
    if rows > most:
        raise Wrong(
            f"{case}at a time in the {counted.peak.phase} about {rows:.0f} rows of logits are "
            f"alive, copies and their gradients among them, want at most {COPIES} · {chunk}"
        )
