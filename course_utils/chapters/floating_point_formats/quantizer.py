"""A rounding that is quick enough for a training loop: five operations of torch."""

import torch

from course_utils.chapters.floating_point_formats.float_format import Format


def quantize(x: torch.Tensor, to: Format) -> torch.Tensor:
    """`x` rounded to the format's nearest values, ties to even, in its own dtype and shape.

    What is beyond the largest becomes the largest; NaN stays NaN. `x` is float32 or float64, or the
    result might not fit in it. Method: dividing by the ulp of each value makes rounding to the
    format rounding to whole numbers, and both the division and the product are exact.
    Raises: TypeError for another dtype; ValueError for E8M0, a scale without zero and sign.
    """
    kind = x.dtype if isinstance(x, torch.Tensor) else type(x).__name__
    if kind not in (torch.float32, torch.float64):
        raise TypeError(f"quantize wants a tensor of float32 or float64, not {kind}")
    if not to.info.has_zero:
        raise ValueError(f"{to.name} holds scales, not values: use Format.round")
    y = x.clone() if to.k >= 8 * x.itemsize else _round(x, to)
    held = torch.finfo(x.dtype)  # less than FP64 can hold, for float32
    return y.clamp(max(to.info.min, held.min), min(to.max, held.max))


def _round(x: torch.Tensor, to: Format) -> torch.Tensor:
    exponent = torch.frexp(x)[1].clamp(min=to.lowest_exponent + 1) - to.precision
    step = torch.ldexp(torch.ones_like(x), exponent)
    rounded = torch.round(x / step) * step
    return rounded if to.info.has_nz else rounded + 0.0
