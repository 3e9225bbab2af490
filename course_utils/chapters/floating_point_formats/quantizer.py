"""A rounding that is quick enough for a training loop: five operations of torch."""

import torch

from course_utils.chapters.floating_point_formats.float_format import (
    OVERFLOWS,
    Format,
    check_choice,
)


def quantize(
    x: torch.Tensor, to: Format, overflow: str = "saturate", noise: torch.Tensor | None = None
) -> torch.Tensor:
    """`x` rounded to the format's values, in its own dtype and shape.

    Nearest-even, or stochastic with `noise`: uniform numbers from [0, 1), shaped like `x`.
    `overflow` as in `Format.round`; NaN stays NaN. `x` is float32 or float64, or the result might
    not fit in it. Method: dividing by the ulp of each value makes rounding to the format rounding
    to whole numbers, and both the division and the product are exact.
    Raises: TypeError for another dtype; ValueError for E8M0, a scale without zero and sign.
    """
    if x.dtype not in (torch.float32, torch.float64):
        raise TypeError(f"quantize wants float32 or float64, not {x.dtype}")
    check_choice(overflow, OVERFLOWS, "overflow")
    if not to.info.has_zero:
        raise ValueError(f"{to.name} holds scales, not values: use Format.round")
    y = x.clone() if to.k >= 8 * x.itemsize else _round(x, to, noise)
    if overflow == "saturate":
        held = torch.finfo(x.dtype)  # less than FP64 can hold, for float32
        return y.clamp(max(to.info.min, held.min), min(to.max, held.max))
    beyond = torch.inf if to.has_infinity else torch.nan
    return torch.where(y.abs() > to.max, torch.copysign(torch.full_like(y, beyond), y), y)


def _round(x: torch.Tensor, to: Format, noise: torch.Tensor | None) -> torch.Tensor:
    exponent = torch.frexp(x)[1].clamp(min=to.lowest_exponent + 1) - to.precision
    step = torch.ldexp(torch.ones_like(x), exponent)
    whole = torch.round(x / step) if noise is None else torch.floor(x / step + noise)
    return whole * step if to.info.has_nz else whole * step + 0.0
