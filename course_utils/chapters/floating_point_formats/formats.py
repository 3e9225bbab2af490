"""The formats that the course speaks of, and any other that the reader makes up.

Sources: IEEE 754-2019; NVIDIA A100 whitepaper (TF32); "FP8 formats for deep learning"
(Micikevicius et al. 2022); OCP Microscaling Formats (MX) specification 1.0.
"""

from gfloat import FormatInfo
from gfloat import formats as known
from gfloat.types import Domain

from course_utils.chapters.floating_point_formats.float_format import (
    OVERFLOWS,
    ROUNDINGS,
    Bits,
    Format,
)

__all__ = [
    "ALL",
    "BF16",
    "E2M1",
    "E2M3",
    "E3M2",
    "E4M3",
    "E5M2",
    "E8M0",
    "FP16",
    "FP32",
    "FP64",
    "INT8",
    "OVERFLOWS",
    "ROUNDINGS",
    "TF32",
    "Bits",
    "Format",
    "make",
]


def make(k: int, precision: int, bias: int | None = None, name: str | None = None) -> Format:
    """A format of the reader's own: IEEE-like, with subnormals, infinities and NaN.

    k bits in all, `precision` of them significand with the hidden one counted, so k − precision
    of exponent; the bias is that of IEEE unless given. Raises: ValueError, with what is allowed.
    """
    if not (isinstance(k, int) and 3 <= k <= 32):
        raise ValueError(f"k is a whole number of bits from 3 to 32, not {k!r}")
    if not (isinstance(precision, int) and 2 <= precision <= min(24, k - 1)):
        most = min(24, k - 1)
        raise ValueError(f"precision is from 2 to {most} bits for k = {k}, not {precision!r}")
    ieee = 2 ** (k - precision - 1) - 1
    if bias is not None and not (isinstance(bias, int) and -60 <= bias - ieee <= 60):
        raise ValueError(f"bias is within 60 of {ieee} for this k and precision, not {bias!r}")
    exponent = k - precision
    title = name or f"E{exponent}M{precision - 1} (k={k})"
    return Format(title, _ieee(k, precision, ieee if bias is None else bias, title))


def _ieee(k: int, precision: int, bias: int, name: str) -> FormatInfo:
    return FormatInfo(
        name,
        k,
        precision,
        bias=bias,
        is_signed=True,
        domain=Domain.Extended,
        has_nz=True,
        num_high_nans=2 ** (precision - 1) - 1,
        has_subnormals=True,
        is_twos_complement=False,
    )


def _whole_numbers(k: int) -> FormatInfo:
    """Two's complement: every value a multiple of one step, which the bias makes 1."""
    return FormatInfo(
        f"int{k}",
        k,
        k,
        bias=2 - k,
        is_signed=True,
        domain=Domain.Finite,
        has_nz=False,
        num_high_nans=0,
        has_subnormals=True,
        is_twos_complement=True,
    )


FP64 = Format("FP64", known.format_info_binary64)
FP32 = Format("FP32", known.format_info_binary32)
TF32 = Format("TF32", _ieee(19, 11, 127, "tf32"))
FP16 = Format("FP16", known.format_info_binary16)
BF16 = Format("BF16", known.format_info_bfloat16)
E4M3 = Format("FP8 E4M3", known.format_info_ocp_e4m3)
E5M2 = Format("FP8 E5M2", known.format_info_ocp_e5m2)
E2M3 = Format("FP6 E2M3", known.format_info_ocp_e2m3)
E3M2 = Format("FP6 E3M2", known.format_info_ocp_e3m2)
E2M1 = Format("FP4 E2M1", known.format_info_ocp_e2m1)
E8M0 = Format("E8M0 scale", known.format_info_ocp_e8m0)
INT8 = Format("INT8", _whole_numbers(8))
ALL = (FP64, FP32, TF32, FP16, BF16, E4M3, E5M2, E2M3, E3M2, E2M1, E8M0, INT8)
