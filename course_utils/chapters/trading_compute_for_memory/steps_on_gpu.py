"""What the page measures on a GPU: a loss forward and backward, and an optimizer's step."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from course_utils.chapters.trading_compute_for_memory.on_gpu import (
    Row,
    held_and_seconds,
    link_gb_per_s,
)
from course_utils.memory.on_gpu import emptied
from course_utils.planner.shapes import shape

Loss = Callable[..., Tensor]


def loss_on_gpu(losses: Mapping[str, Loss], case: Row) -> Row:
    """Returns the bytes and seconds of `losses[case["loss"]]` in BF16, chunks of 1,024 rows."""
    there: Any = {"dtype": torch.bfloat16, "device": "cuda"}
    features = torch.randn(case["tokens"], 4096, **there).requires_grad_()
    weight = torch.randn(case["vocabulary"], 4096, **there).div_(64).requires_grad_()
    targets = torch.randint(case["vocabulary"], (case["tokens"],), device="cuda")
    loss = losses[case["loss"]]
    if "chunks" in case["loss"]:
        loss = partial(loss, rows=1024)

    def step() -> None:
        loss(features, weight, targets).backward()
        features.grad = weight.grad = None

    return held_and_seconds(step)


@torch.no_grad()
def adam_from_host(
    weights: Sequence[Tensor],
    moments: Sequence[Sequence[Tensor]],
    t: int,
    lr: float = 1e-3,
    betas: tuple[float, float] = (0.9, 0.999),
) -> None:
    """Does Adam's step number `t` with `moments`, pairs of pinned tensors, on the host."""
    for w, (mean_there, square_there) in zip(weights, moments, strict=True):
        mean = mean_there.to(w.device, non_blocking=True, copy=True)
        square = square_there.to(w.device, non_blocking=True, copy=True)
        assert w.grad is not None
        mean.lerp_(w.grad, 1 - betas[0])
        square.mul_(betas[1]).addcmul_(w.grad, w.grad, value=1 - betas[1])
        size = (square / (1 - betas[1] ** t)).sqrt_().add_(1e-8)
        w.addcdiv_(mean, size, value=-lr / (1 - betas[0] ** t))
        mean_there.copy_(mean, non_blocking=True)
        square_there.copy_(square, non_blocking=True)


def optimizer_on_gpu(adams: Mapping[str, Mapping[str, bool]], case: Row) -> Row:
    """Returns the bytes and seconds of Adam's step for the matrices of Llama 3.2 1B in FP32.

    With the arguments `adams[case["optimizer"]]`, or with the moments on the host.
    """
    emptied()
    llama = shape("Llama 3.2 1B")
    sizes = [(llama.vocabulary, llama.width), *llama.layers * list(llama.products)]
    weights = [torch.ones(size, device="cuda").requires_grad_() for size in sizes]
    for w in weights:
        w.grad = torch.full_like(w, 1e-3)
    before = torch.cuda.memory_allocated()
    if case["optimizer"] in adams:
        adam: Any = torch.optim.Adam
        step = adam(weights, **adams[case["optimizer"]]).step
    else:
        moments = [[torch.zeros(w.shape, pin_memory=True) for _ in range(2)] for w in weights]
        step = partial(adam_from_host, weights, moments, t=1)
    found = held_and_seconds(step)
    return found | {
        "parameters": sum(w.numel() for w in weights),
        "states_bytes": torch.cuda.memory_allocated() - before,
        "link_gb_per_s": link_gb_per_s(),
    }
