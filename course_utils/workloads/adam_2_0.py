"""The multi-tensor Adam of torch 2.0 and before, for the memory of runs from that time.

torch's Adam works on all parameters at once ("foreach") where they are on a GPU, so its
temporaries are as large as all parameters together. Until 2.0 it made two such lists in a step,
since 2.1 one: `torch._foreach_add_` took the place of `torch._foreach_add`.
Source: torch/optim/adam.py, `_multi_tensor_adam`, at v2.0.0 and v2.1.0.
"""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

BETAS, EPSILON = (0.9, 0.999), 1e-8  # torch's own


class TwoListAdam(torch.optim.Optimizer):
    """Adam (Kingma and Ba 2015) whose step holds two temporaries of the parameters' size.

    `weight_decay` is decoupled from the gradient, as in AdamW. Steps are counted on the host.
    Raises: those of torch.optim.Optimizer, for parameters that are none.
    """

    def __init__(
        self, params: Iterable[Tensor], lr: float = 1e-3, weight_decay: float = 0.0
    ) -> None:
        super().__init__(params, dict(lr=lr, weight_decay=weight_decay))
        self.steps = 0

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """One update of every parameter that has a gradient."""
        self.steps += 1
        for group in self.param_groups:
            parameters = [p for p in group["params"] if p.grad is not None]
            if parameters:
                self._update(group, parameters)

    def _update(self, group: dict[str, Any], parameters: list[Tensor]) -> None:
        beta_1, beta_2 = BETAS
        gradients = [p.grad for p in parameters if p.grad is not None]
        means, squares = self._states(parameters)
        torch._foreach_mul_(parameters, 1 - group["lr"] * group["weight_decay"])
        torch._foreach_mul_(means, beta_1)
        torch._foreach_add_(means, gradients, alpha=1 - beta_1)
        torch._foreach_mul_(squares, beta_2)
        torch._foreach_addcmul_(squares, gradients, gradients, 1 - beta_2)
        roots = torch._foreach_sqrt(squares)
        torch._foreach_div_(roots, (1 - beta_2**self.steps) ** 0.5)
        divisors = torch._foreach_add(roots, EPSILON)
        torch._foreach_addcdiv_(
            parameters, means, divisors, value=-group["lr"] / (1 - beta_1**self.steps)
        )

    def _states(self, parameters: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        for p in parameters:
            if not self.state[p]:
                self.state[p] = {"mean": torch.zeros_like(p), "square": torch.zeros_like(p)}
        states = [self.state[p] for p in parameters]
        return [s["mean"] for s in states], [s["square"] for s in states]
