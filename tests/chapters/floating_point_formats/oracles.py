"""What others decode, and rounding by search among their values: the answers to compare with."""

import ml_dtypes
import numpy as np

from course_utils.chapters.floating_point_formats.formats import (
    BF16,
    E2M1,
    E2M3,
    E3M2,
    E4M3,
    E5M2,
    FP16,
    INT8,
)

ORACLES = {
    FP16: np.float16,
    BF16: ml_dtypes.bfloat16,
    E4M3: ml_dtypes.float8_e4m3fn,
    E5M2: ml_dtypes.float8_e5m2,
    E2M3: ml_dtypes.float6_e2m3fn,
    E3M2: ml_dtypes.float6_e3m2fn,
    E2M1: ml_dtypes.float4_e2m1fn,
    INT8: np.int8,
}
named = {"ids": lambda value: getattr(value, "name", None)}


def oracle_values(fmt):
    """Every code's value as somebody else decodes it."""
    codes = np.arange(2**fmt.k, dtype=np.uint16 if fmt.k == 16 else np.uint8)
    with np.errstate(invalid="ignore"):
        return codes.view(ORACLES[fmt]).astype(np.float64)


def finite_codes(fmt):
    """The finite values in order, each with its code; of two zeros, the positive one."""
    values = oracle_values(fmt)
    codes = np.flatnonzero(np.isfinite(values) & ~((values == 0) & np.signbit(values)))
    order = np.argsort(values[codes], kind="stable")
    return values[codes][order], codes[order]


def boundaries(fmt):
    """Between all neighbours: the middle, and one float64 to each side of it."""
    values, _ = finite_codes(fmt)
    middle = (values[:-1] + values[1:]) / 2
    around = [np.nextafter(middle, -np.inf), middle, np.nextafter(middle, np.inf)]
    return np.concatenate([values, *around])


def nearest_even(fmt, x):
    """Rounding by search: of the two neighbours the nearer, of two equally near the even code."""
    values, codes = finite_codes(fmt)
    above = np.clip(np.searchsorted(values, x), 1, len(values) - 1)
    low, high = values[above - 1], values[above]
    to_low, to_high = x - low, high - x
    even_low = codes[above - 1] % 2 == 0
    return np.where((to_low < to_high) | ((to_low == to_high) & even_low), low, high)
