"""A pipeline stage that sleeps instead of computing, so that more ranks than cores run at once."""

import time
from typing import Any

import torch
from torch import Tensor, nn


class Sleeper(nn.Module):
    """Sleeps `seconds` in its forward pass and twice as long in its backward; changes nothing."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds, self.weight = seconds, nn.Parameter(torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        slept: Tensor = _Sleep.apply(x, self.weight, self.seconds)
        return slept


class _Sleep(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, seconds: float) -> Tensor:
        ctx.seconds = seconds
        time.sleep(seconds)
        return x + weight

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, None]:
        time.sleep(2 * ctx.seconds)
        return grads[0].contiguous(), grads[0].sum(), None
