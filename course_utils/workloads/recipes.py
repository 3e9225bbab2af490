"""Precision recipes: the dtypes of a training run, as chapter 7 compares them."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from course_utils.workloads.matmul import formats_of

HALF = 2  # bytes of a BF16 or FP16 number
FULL = 4  # bytes of an FP32 number


@dataclass(frozen=True)
class Recipe:
    """Says where a training run uses 16 bits: in the weights, inside autocast, or nowhere.

    `weights` is the dtype of weights, gradients and Adam's two states; `autocast` that of matmuls
    under autocast, None without it; `scales_loss` asks for a GradScaler; `kahan` stores beside
    each weight the rounding error of its updates.
    """

    name: str
    weights: torch.dtype = torch.float32
    autocast: torch.dtype | None = None
    scales_loss: bool = False
    kahan: bool = False

    def optimizer(
        self, parameters: Iterable[Tensor], lr: float, **kwargs: object
    ) -> torch.optim.Adam:
        """Makes the recipe's optimizer: `KahanAdam` with `kahan`, else torch's Adam."""
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
    """Returns the recipe of that name. Raises: ValueError, with the existing names, for another."""
    if name not in RECIPES:
        raise ValueError(f"no recipe {name!r}; there are {', '.join(map(repr, RECIPES))}")
    return RECIPES[name]


def recipes_of(device: torch.device | str) -> dict[str, Recipe]:
    """Returns the recipes that a device has units for: GPUs before Ampere have none for BF16."""
    if "BF16" in formats_of(device):
        return RECIPES
    return {
        name: recipe
        for name, recipe in RECIPES.items()
        if torch.bfloat16 not in (recipe.weights, recipe.autocast)
    }


def autocast(device_type: str, dtype: torch.dtype | None) -> torch.amp.autocast_mode.autocast:
    """Returns `torch.amp.autocast`, turned off if `dtype` is None.

    Raises: ValueError for a dtype that this device can't autocast to, where torch only prints a
    warning, turns autocast off, and trains in FP32.
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


def refuse_nan(loss: Tensor) -> None:
    """Raises FloatingPointError if a timed step's loss isn't finite: its speed means nothing."""
    if not loss.isfinite():
        raise FloatingPointError("the loss is no number: its speed means nothing")


def _gpu_has_bf16() -> bool:
    return torch.cuda.is_bf16_supported(including_emulation=False)


CHUNK = 2**23  # numbers that KahanAdam updates at once, with one temporary for each

Piece = tuple[Tensor, Tensor, Tensor, Tensor, Tensor]  # weight, gradient, both moments, lost


class KahanAdam(torch.optim.Adam):
    """Adam for weights in BF16, which adds each update's rounding error to the next update.

    Source: Zamirai et al. 2020, "Revisiting BFloat16 Training", algorithm 2 (Kahan summation,
    Kahan 1965). `state[p]["lost"]` has the weight's shape and dtype; weight + lost is the
    weight with about 16 significant bits. A step needs CHUNK numbers of temporary memory, however
    large the model is.
    Raises: ValueError for another of Adam's options (it has no weight decay), and for a closure.
    """

    def __init__(
        self,
        params: Iterable[Tensor],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        **others: object,
    ) -> None:
        wanted = ", ".join(name for name, value in others.items() if value)
        if wanted:
            raise ValueError(
                f"KahanAdam has no {wanted.replace('_', ' ')}: it takes lr, betas and eps, and "
                "you decay the weights yourself"
            )
        super().__init__(params, lr=lr, betas=betas, eps=eps)

    @torch.no_grad()
    def step(self, closure: object = None) -> None:  # type: ignore[override]
        """Does one step: Adam's moments as in torch, the update added with compensation."""
        if closure is not None:
            raise ValueError("KahanAdam takes no closure: compute the loss before the step")
        for group in self.param_groups:
            moved = [p for p in group["params"] if p.grad is not None]
            for p in moved:
                self._begin(p)
            for pieces in _in_chunks(piece for p in moved for piece in self._pieces(p)):
                _kahan_update(pieces, group["lr"], group["betas"], group["eps"])

    def _begin(self, p: Tensor) -> None:
        state = self.state[p]
        if not state:
            state["step"] = torch.zeros(())
            for name in ("exp_avg", "exp_avg_sq", "lost"):
                state[name] = torch.zeros_like(p)
        state["step"] += 1

    def _pieces(self, p: Tensor) -> Iterator[tuple[Piece, int]]:
        """Yields a weight and its states in flat pieces of CHUNK numbers, with its step."""
        assert p.grad is not None
        state, count = self.state[p], int(self.state[p]["step"])
        whole = (p, p.grad, state["exp_avg"], state["exp_avg_sq"], state["lost"])
        if not all(t.is_contiguous() for t in whole):
            yield whole, count
            return
        for piece in zip(*(t.view(-1).split(CHUNK) for t in whole), strict=True):
            yield piece, count


def _in_chunks(pieces: Iterable[tuple[Piece, int]]) -> Iterator[list[tuple[Piece, int]]]:
    """Yields lists of pieces that have at most CHUNK numbers together (one piece at least)."""
    chunk: list[tuple[Piece, int]] = []
    size = 0
    for piece in pieces:
        count = piece[0][0].numel()
        if chunk and size + count > CHUNK:
            yield chunk
            chunk, size = [], 0
        chunk.append(piece)
        size += count
    if chunk:
        yield chunk


def _kahan_update(
    pieces: list[tuple[Piece, int]], lr: float, betas: tuple[float, float], eps: float
) -> None:
    """Does Adam's step for some pieces of weights, in place, with one temporary of their size."""
    weights, gradients, means, squares, lost = (
        list(column) for column in zip(*(piece for piece, _ in pieces), strict=True)
    )
    steps = [-lr / (1 - betas[0] ** count) for _, count in pieces]
    torch._foreach_lerp_(means, gradients, 1 - betas[0])
    torch._foreach_mul_(squares, betas[1])
    torch._foreach_addcmul_(squares, gradients, gradients, 1 - betas[1])
    room = torch._foreach_sqrt(squares)
    torch._foreach_div_(room, [math.sqrt(1 - betas[1] ** count) for _, count in pieces])
    torch._foreach_add_(room, eps)
    torch._foreach_addcdiv_(lost, means, room, steps)  # the update, and what was lost before
    torch._foreach_copy_(room, weights)
    torch._foreach_add_(weights, lost)
    torch._foreach_sub_(room, weights)  # minus what arrived
    torch._foreach_add_(lost, room)
