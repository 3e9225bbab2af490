"""Asynchronous training, played in one process: gradients of weights that have since moved.

With n workers that take turns, each gradient was computed n−1 updates ago.
"""

import math
from collections import deque
from collections.abc import Callable, Iterator

import torch

from course_utils.workloads.addition import answer_loss


def stale_descent(
    model: torch.nn.Module,
    batches: Iterator[torch.Tensor],
    rate: float,
    staleness: int,
    steps: int,
    loss_of: Callable[[torch.nn.Module, torch.Tensor], torch.Tensor] = answer_loss,
) -> list[float]:
    """The losses of `steps` updates, each by the gradient of the weights `staleness` updates ago.

    The first updates wait until a gradient is old enough, as the first workers do.
    """
    parameters, waiting, losses = list(model.parameters()), deque[tuple[torch.Tensor, ...]](), []
    for _ in range(steps + staleness):
        loss = loss_of(model, next(batches))
        waiting.append(torch.autograd.grad(loss, parameters))
        losses.append(float(loss.detach()))
        if len(waiting) > staleness:
            with torch.no_grad():
                for p, gradient in zip(parameters, waiting.popleft(), strict=True):
                    p.sub_(gradient, alpha=rate)
    return losses[staleness:]


def rate_limit(staleness: int, curvature: float = 1.0) -> float:
    """The largest learning rate at which descent on ½·curvature·w² converges.

    Roots of z^(τ+1) = z^τ − a stay inside the unit circle up to a = 2·sin(π/(4τ + 2)). Source:
    Levin and May 1976, "A note on difference-delay equations".
    """
    return 2 * math.sin(math.pi / (4 * staleness + 2)) / curvature


def descend_quadratic(rate: float, staleness: int, steps: int = 4000) -> float:
    """|w| after `steps` stale updates of ½·w² from w = 1; infinity where it runs away."""
    weights = deque([1.0] * (staleness + 1), maxlen=staleness + 1)
    for _ in range(steps):
        weights.append(weights[-1] - rate * weights[0])
        if abs(weights[-1]) > 1e9:
            return math.inf
    return max(map(abs, weights))
