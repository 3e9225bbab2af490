"""Precision recipes: which dtype holds what in training, as chapter 7 compares them."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

HALF = 2  # bytes of a BF16 or FP16 number
FULL = 4  # bytes of an FP32 number


@dataclass(frozen=True)
class Recipe:
    """Where a training run keeps 16 bits: in the weights, inside autocast, or nowhere.

    `weights` is the dtype of weights, gradients and Adam's two states; `autocast` that of the
    products under autocast, None without it; `scales_loss` asks for a GradScaler; `kahan` keeps
    what each update lost beside the weight.
    """

    name: str
    weights: torch.dtype = torch.float32
    autocast: torch.dtype | None = None
    scales_loss: bool = False
    kahan: bool = False

    @property
    def bytes_per_parameter(self) -> int:
        """Weight, gradient and Adam's two states (and Kahan's); autocast's copies aren't in it."""
        return (4 + self.kahan) * self.weights.itemsize

    def optimizer(
        self, parameters: Iterable[Tensor], lr: float, **kwargs: object
    ) -> torch.optim.Adam:
        return (KahanAdam if self.kahan else torch.optim.Adam)(parameters, lr=lr, **kwargs)  # type: ignore[arg-type]


RECIPES = {
    recipe.name: recipe
    for recipe in (
        Recipe("FP32"),
        Recipe("AMP BF16", autocast=torch.bfloat16),
        Recipe("AMP FP16", autocast=torch.float16, scales_loss=True),
        Recipe("pure BF16", weights=torch.bfloat16),
        Recipe("pure BF16 + Kahan", weights=torch.bfloat16, kahan=True),
    )
}


def recipe(name: str) -> Recipe:
    """The recipe of that name; ValueError, with the names there are, for another."""
    if name not in RECIPES:
        raise ValueError(f"no recipe {name!r}; there are {', '.join(map(repr, RECIPES))}")
    return RECIPES[name]


def autocast(device_type: str, dtype: torch.dtype | None) -> torch.amp.autocast_mode.autocast:
    """`torch.amp.autocast`, refusing what torch would only warn of; off where `dtype` is None.

    Errors: ValueError for a dtype that this device can't autocast to. (torch prints a warning,
    turns autocast off, and trains in FP32.)
    """
    if dtype is None:
        return torch.amp.autocast(device_type, enabled=False)
    if dtype not in (torch.bfloat16, torch.float16):
        raise ValueError(
            f"autocast runs products in torch.bfloat16 or torch.float16, not {dtype}: "
            "torch would warn, turn autocast off, and compute in the inputs' dtype"
        )
    if device_type == "cuda" and dtype is torch.bfloat16 and not _gpu_has_bf16():
        raise ValueError(
            "this GPU has no BF16 tensor cores (Ampere, compute capability 8.0, brought them): "
            "take torch.float16 and a GradScaler"
        )
    return torch.amp.autocast(device_type, dtype)


def grad_scaler(
    device_type: str, scale: float = 2.0**16, enabled: bool = True
) -> torch.amp.GradScaler:
    """`torch.amp.GradScaler` with a start scale that can work.

    Errors: ValueError for a scale that isn't positive and finite. (With an infinite one each
    gradient is infinite, half of infinity is infinity, and no step is ever taken.)
    """
    if not 0 < scale < float("inf"):
        raise ValueError(
            f"a loss scale is positive and finite, not {scale}: every gradient would be infinite "
            "or zero, and every step skipped or empty; start at 2.0**16"
        )
    return torch.amp.GradScaler(device_type, init_scale=scale, enabled=enabled)


def _gpu_has_bf16() -> bool:
    return torch.cuda.is_bf16_supported(including_emulation=False)


class KahanAdam(torch.optim.Adam):
    """Adam for weights in BF16, which keeps what each update loses and adds it to the next.

    Source: Zamirai et al. 2020, "Revisiting BFloat16 Training", algorithm 2 (Kahan summation,
    Kahan 1965). `state[p]["lost"]` has the weight's shape and dtype; weight + lost is the exact
    weight. Errors: ValueError for weight decay, which torch's Adam would mix into the gradient,
    and for a closure.
    """

    def __init__(self, params: Iterable[Tensor], lr: float = 1e-3, **kwargs: object) -> None:
        if kwargs.get("weight_decay"):
            raise ValueError("KahanAdam has no weight decay: decay the weights yourself")
        super().__init__(params, lr=lr, **kwargs)  # type: ignore[arg-type]

    @torch.no_grad()
    def step(self, closure: object = None) -> None:  # type: ignore[override]
        """One step: Adam's update of a zero weight is the update alone, added with compensation."""
        if closure is not None:
            raise ValueError("KahanAdam takes no closure: compute the loss before the step")
        moved = [p for group in self.param_groups for p in group["params"] if p.grad is not None]
        if not moved:
            return
        before = [p.clone() for p in moved]
        torch._foreach_zero_(moved)
        super().step()
        for p in moved:
            if "lost" not in self.state[p]:
                self.state[p]["lost"] = torch.zeros_like(p)
        lost = [self.state[p]["lost"] for p in moved]
        torch._foreach_add_(lost, moved)  # the whole change: the update and what was lost before
        torch._foreach_copy_(moved, before)
        torch._foreach_add_(moved, lost)
        arrived = torch._foreach_sub(moved, before)
        torch._foreach_sub_(lost, arrived)


def cpu_has_fp16() -> bool:
    """Whether this processor multiplies FP16 numbers itself; True too where it can't be known.

    Linux names it in /proc/cpuinfo: avx512_fp16 and amx_fp16 (x86), asimdhp (Arm).
    """
    try:
        flags = set(Path("/proc/cpuinfo").read_text().split())
    except OSError:
        return True
    return bool(flags & {"avx512_fp16", "amx_fp16", "asimdhp"})
