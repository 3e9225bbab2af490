"""Checkers for chapter 6, "Floating-point formats"."""

import random
from collections.abc import Callable
from typing import Any

import torch

from course_utils.chapters.floating_point_formats.formats import (
    BF16,
    E2M1,
    E4M3,
    E5M2,
    FP16,
    Format,
)
from course_utils.lesson.exercises import Wrong, exercise

CLOSE = 2.0**-12  # of a step: nearer than this, floor(x / ulp + random) depends on FP32's rounding


@exercise(
    "formats.stochastic",
    todo="write stochastic(x, precision, lowest_exponent, largest, random), from quantize.",
    hints=(
        "x / ulp is between two whole numbers. torch.floor gives the one below, also for negative "
        "numbers. What is left is the probability of the one above.",
        "A random number from [0, 1) is below p with probability p. Clamp in the end.",
    ),
)
def check_stochastic(stochastic: Callable[..., torch.Tensor]) -> str:
    """Against both neighbours and the random numbers given, on either side of zero."""
    for fmt in (E2M1, E4M3, E5M2, FP16, BF16):
        x = _trials(fmt)
        drawn = torch.rand(x.shape).clamp(CLOSE, 1 - CLOSE)
        got = _rounded_by(stochastic, fmt, x, drawn)
        low, high = (fmt.round(x, rounding, overflow="saturate") for rounding in ("down", "up"))
        outside = (got != low) & (got != high)
        _refuse(outside, fmt, x, got, low, high)
        up = (got == high) & (low != high)
        share = torch.where(low == high, 0.0, (x.double() - low) / fmt.ulp(x.double()))
        _require_share(fmt, x, drawn, share, up)
    return "five formats: both neighbours, with the right probability, on both sides of zero"


def _trials(fmt: Format) -> torch.Tensor:
    """Numbers inside and outside of the format's range, subnormals, and what it holds exactly."""
    spread = torch.randn(4000) * 2.0 ** torch.randint(-8, 8, (4000,)) * min(fmt.max, 100) / 100
    tiny = torch.randn(1000) * 2 * fmt.min_subnormal
    held = fmt.round(spread[:500], overflow="saturate").float()
    ends = torch.tensor([0.0, fmt.max, -fmt.max, 2 * min(fmt.max, 1e38), -3 * min(fmt.max, 1e38)])
    return torch.cat([spread, tiny, held, ends])


def _rounded_by(answer: Callable[..., Any], fmt: Format, *tensors: torch.Tensor) -> torch.Tensor:
    x, drawn = (one.clone() for one in tensors)
    given = answer(x, fmt.precision, fmt.lowest_exponent, fmt.max, drawn)
    kind = type(given).__name__
    try:
        got = torch.as_tensor(given).detach().double()
    except (TypeError, ValueError, RuntimeError):
        raise Wrong(f"want a tensor of shape {tuple(x.shape)}, got {kind}") from None
    if got.shape != x.shape:
        raise Wrong(f"want a tensor of shape {tuple(x.shape)}, got {kind} of {tuple(got.shape)}")
    return got


def _refuse(
    wrong: torch.Tensor, fmt: Format, x: torch.Tensor, got: torch.Tensor,
    low: torch.Tensor, high: torch.Tensor,
) -> None:  # fmt: skip
    if wrong.any():
        i = int(wrong.nonzero()[0])
        want = f"{low[i]:.9g}" if low[i] == high[i] else f"{low[i]:.9g} or {high[i]:.9g}"
        many = f"({int(wrong.sum())} of {len(x)})"
        raise Wrong(f"in {fmt.name}, {x[i]:.9g} became {got[i]:.9g}, want {want} {many}")


def _require_share(
    fmt: Format, x: torch.Tensor, drawn: torch.Tensor, share: torch.Tensor, up: torch.Tensor
) -> None:
    """Requires one rule for each sign: up where the random number is low enough, or high enough."""
    inside = (share > 0) & (x.abs() < fmt.max)
    for name, side in (("positive", inside & (x > 0)), ("negative", inside & (x < 0))):
        by_low, by_high = share - drawn, drawn - (1 - share)
        rules = [((rule > 0) == up) | (rule.abs() < CLOSE) for rule in (by_low, by_high)]
        if not any(rule[side].all() for rule in rules):
            ups, want = up[side].double().mean(), share[side].mean()
            raise Wrong(
                f"in {fmt.name}, {name} numbers: whether you round up doesn't follow from the "
                f"random numbers and the remainders ({ups:.0%} went up, want about {want:.0%})"
            )


@exercise(
    "formats.to_fp8",
    todo="write to_fp8(x): FP8 codes, and a scale for each row.",
    hints=(
        "The largest number of a row becomes 448: x.abs().amax(1, keepdim=True) / 448.",
        "A row of zeros has amax 0: use 1 as its scale. Clamp before the cast: older versions of "
        "torch make NaN of what is too large.",
    ),
)
def check_to_fp8(to_fp8: Callable[[torch.Tensor], tuple[torch.Tensor, torch.Tensor]]) -> str:
    """Rows of very different sizes, one of them all zeros: dtype, shape, range and error."""
    spread = torch.randn(8, 64) * 2.0 ** torch.randint(-8, 1, (8, 64))
    x = spread * 10.0 ** torch.randint(-6, 7, (8, 1))
    x[random.randrange(8)] = 0
    try:
        codes, scale = to_fp8(x.clone())
        scale = torch.as_tensor(scale).float()
        dtype, back = codes.dtype, codes.float() * scale
    except (TypeError, ValueError, AttributeError, RuntimeError) as problem:
        raise Wrong(f"want (codes, scale), codes.float() * scale near x: {problem}") from None
    if dtype != torch.float8_e4m3fn or back.shape != x.shape:
        raise Wrong(f"want codes of torch.float8_e4m3fn in x's shape, got {dtype}, {back.shape}")
    if scale.numel() != len(x):
        raise Wrong(f"want one scale for each of the 8 rows, got {tuple(scale.shape)}")
    if not back.isfinite().all():
        row = int((~back.isfinite()).nonzero()[0][0])
        raise Wrong(f"row {row}, of amax {x[row].abs().max():.3g}, came back as {back[row][0]}")
    amax = x.abs().amax(1, keepdim=True)
    bound = torch.maximum(x.abs() * 2.0**-4, amax / E4M3.max * E4M3.min_subnormal / 2)
    off = (back - x).abs() > 1.01 * bound  # half an ulp where the row's largest number is 448
    if off.any():
        row, place = off.nonzero()[0].tolist()
        found = f"{x[row, place]:.4g} came back as {back[row, place]:.4g}"
        raise Wrong(f"row {row}, of amax {amax[row, 0]:.3g}: {found}, off by more than half an ulp")
    return "rows from 10⁻⁶ to 10⁶ and one of zeros: within half an ulp of FP8"
