"""Measures the error of an FP8 matmul on a GPU."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course_utils.core.timing import measure

N, CHECKED = 4096, 64
Product = Callable[..., Tensor]  # of a (n, k) and b (n, k) in FP8, and whether to add fast


def positive(rows: int, k: int, device: str) -> Tensor:
    """Random numbers between 0 and 1 in FP8 E4M3: nothing cancels in their sums."""
    return torch.rand(rows, k, device=device).to(torch.float8_e4m3fn)


def error_of_adding(found: Tensor, a: Tensor, b: Tensor) -> float:
    """The largest relative error against the same inputs' product a @ b.T in float64."""
    exact = a.double() @ b.double().t()
    return float((found.double() / exact - 1).abs().max())


def accumulate_in_fp8(product: Product, case: dict[str, Any]) -> dict[str, float]:
    """The largest relative error and TFLOP/s of one `case` (`k`, `fast_accumulation`), a row.

    The matrices have N rows; the error is that of a corner of CHECKED × CHECKED.
    """
    a, b = (positive(N, case["k"], "cuda") for _ in range(2))
    fast = case["fast_accumulation"]
    found = product(a, b, fast)[:CHECKED, :CHECKED]
    seconds = measure(lambda: product(a, b, fast)).median
    return {
        "largest_relative_error": error_of_adding(found, a[:CHECKED], b[:CHECKED]),
        "tflop_per_s": 2 * N**2 * case["k"] / seconds / 1e12,
    }
