"""A step of several micro-batches, held against that of the whole batch."""

import copy
import math
import random
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from course_utils.lesson.answers import as_number, close, shown
from course_utils.lesson.exercises import Wrong
from course_utils.memory.counting import count
from course_utils.workloads.gpt import GPT, GPTConfig

MicroBatches = list[tuple[Tensor, Tensor]]
CONFIG = GPTConfig(vocabulary=40, context=16, layers=1, heads=2, width=16)
SLACK = 2.0  # times the largest graph: for logits of the one before, sums of gradients


def judge(accumulate: Callable[..., Any], shares: list[float]) -> None:
    """One step of micro-batches of which these shares of the tokens count, at least one in all.

    The parameters hold gradients before, of something else. Raises: Wrong.
    """
    model, micro_batches = GPT(CONFIG), [_micro_batch(share) for share in shares]
    want, wanted = _whole_batch(model, micro_batches)
    largest = max(micro_batches, key=lambda pair: pair[0].numel())
    most = SLACK * _graph(copy.deepcopy(model), largest)
    tokens = [int((targets != -100).sum()) for _, targets in micro_batches]
    case = f"micro-batches of {', '.join(map(str, tokens))} tokens that count: "
    stepped: list[list[Tensor | None]] = []
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    optimizer.register_step_post_hook(
        lambda *_: stepped.append([copy.deepcopy(p.grad) for p in model.parameters()])
    )
    before = [torch.randn_like(parameter) for parameter in model.parameters()]
    for parameter, grad in zip(model.parameters(), before, strict=True):
        parameter.grad = grad.clone()
    with count(model) as counted:
        loss = accumulate(model, optimizer, list(micro_batches))
    if len(stepped) != 1:
        raise Wrong(f"{case}optimizer.step() ran {len(stepped)} times, want once")
    if isinstance(loss, Tensor) and loss.requires_grad:
        raise Wrong(f"{case}you return a tensor with a graph, {shown(loss)}, want a float")
    _compare(stepped[0], wanted, before, case)
    if not close(got := as_number(loss), want, rel_tol=1e-4):
        raise Wrong(f"{case}you return {got:.5f}, the mean loss of all of them is {want:.5f}")
    held = counted.kept("activation")
    if held > most:
        raise Wrong(
            f"{case}{held:,} bytes of activations are alive at once: {held * SLACK / most:.1f} "
            "times those of the largest micro-batch"
        )


def _micro_batch(share: float) -> tuple[Tensor, Tensor]:
    """Tokens and their targets, of which a share counts, rounded up."""
    shape = 2, random.randint(12, CONFIG.context)
    tokens, targets = (torch.randint(CONFIG.vocabulary, shape) for _ in range(2))
    ignored = torch.randperm(targets.numel())[math.ceil(share * targets.numel()) :]
    targets.view(-1)[ignored] = -100
    return tokens, targets


def _whole_batch(model: nn.Module, micro_batches: MicroBatches) -> tuple[float, list[Tensor]]:
    """The mean loss over all tokens that count, and its gradients, in FP64."""
    exact = copy.deepcopy(model).double()
    logits = torch.cat([exact(tokens).flatten(0, 1) for tokens, _ in micro_batches])
    loss = F.cross_entropy(logits, torch.cat([targets.flatten() for _, targets in micro_batches]))
    return loss.item(), list(torch.autograd.grad(loss, list(exact.parameters())))


def _graph(model: nn.Module, micro_batch: tuple[Tensor, Tensor]) -> int:
    """The bytes that one micro-batch's forward keeps for its backward."""
    tokens, targets = micro_batch
    with count(model) as counted:
        loss = F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten(), reduction="sum")
        loss.backward()
    return counted.kept("activation")


def _compare(got: list[Tensor | None], want: list[Tensor], before: list[Tensor], case: str) -> None:
    """All gradients as one vector, by its norm."""
    if any(one is None for one in got):
        raise Wrong(f"{case}a parameter has no gradient at optimizer.step()")
    found, wanted, old = (
        torch.cat([torch.as_tensor(g).flatten() for g in gs]) for gs in (got, want, before)
    )
    off, without = (float((one - wanted).norm() / wanted.norm()) for one in (found, found - old))
    if not off < 1e-4:
        why = ": what .grad held before is still in it" if without < 1e-3 else ""
        raise Wrong(f"{case}at optimizer.step() the gradient is off by {off:.0%}{why}")
