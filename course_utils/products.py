"""A square matrix product in each format that a GPU multiplies in, ready to be timed."""

from collections.abc import Callable

import torch
from torch import Tensor

DTYPES = {
    "FP32": torch.float32,
    "TF32": torch.float32,
    "FP16": torch.float16,
    "BF16": torch.bfloat16,
    "FP8 E4M3": torch.float8_e4m3fn,
}


class Product:
    """A product that is carried out at each call; `a` and `b` are its inputs, unrounded (FP64)."""

    def __init__(self, a: Tensor, b: Tensor, call: Callable[[], Tensor]) -> None:
        self.a, self.b, self._call = a, b, call

    def __call__(self) -> Tensor:
        return self._call()


def product(format_name: str, n: int, device: torch.device | str = "cpu") -> Product:
    """Two normal (n, n) matrices, rounded to that format, ready to be multiplied.

    TF32 and FP8 E4M3 want CUDA; TF32 is FP32 with its products' inputs rounded on the way in, and
    FP8 gives an FP32 result (`torch._scaled_mm`, scales of 1, n a multiple of 16).
    Errors: ValueError for another name, and for what a CPU can't do.
    """
    if format_name not in DTYPES:
        raise ValueError(f"no format {format_name!r}; there are {', '.join(DTYPES)}")
    on_gpu = torch.device(device).type == "cuda"
    if format_name in ("TF32", "FP8 E4M3") and not on_gpu:
        raise ValueError(f"{format_name} products want a CUDA GPU, not {device}")
    a, b = torch.randn(2, n, n, device=device, dtype=torch.float64)
    if format_name == "FP8 E4M3":
        return Product(a, b, _scaled(a, b))
    left, right = (m.to(DTYPES[format_name]) for m in (a, b))
    precision = "tf32" if format_name == "TF32" else "ieee"
    return Product(a, b, _at(precision, left, right) if on_gpu else lambda: left @ right)


def _at(precision: str, left: Tensor, right: Tensor) -> Callable[[], Tensor]:
    switch = torch.backends.cuda.matmul

    def call() -> Tensor:
        before, switch.fp32_precision = switch.fp32_precision, precision
        try:
            return left @ right
        finally:
            switch.fp32_precision = before

    return call


def _scaled(a: Tensor, b: Tensor) -> Callable[[], Tensor]:
    dtype = DTYPES["FP8 E4M3"]
    left, right = a.to(dtype), b.t().contiguous().to(dtype).t()  # the second by columns
    one = torch.ones((), device=a.device)
    return lambda: torch._scaled_mm(left, right, one, one, out_dtype=torch.float32)
