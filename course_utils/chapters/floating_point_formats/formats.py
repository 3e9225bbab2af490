"""The formats that the course speaks of, and any other that the reader makes up.

Sources: IEEE 754-2019; NVIDIA A100 whitepaper (TF32); "FP8 formats for deep learning"
(Micikevicius et al. 2022); OCP Microscaling Formats (MX) specification 1.0.
"""

from dataclasses import replace

from gfloat import formats as known

from course_utils.chapters.floating_point_formats.float_format import Format

MOST_EXPONENT_BITS = 10  # so that float64 holds every value


def make(k: int, precision: int, bias: int | None = None, name: str | None = None) -> Format:
    """A format of the reader's own: IEEE-like, with subnormals, infinities and NaN.

    k bits in all, `precision` of them significand with the hidden one counted, so k − precision
    of exponent, 10 at most; the bias is that of IEEE unless given.
    Raises: ValueError, with what is allowed.
    """
    if not (isinstance(k, int) and 3 <= k <= 32):
        raise ValueError(f"k is a whole number of bits from 3 to 32, not {k!r}")
    least, most = max(2, k - MOST_EXPONENT_BITS), min(24, k - 1)
    if not (isinstance(precision, int) and least <= precision <= most):
        raise ValueError(f"precision is from {least} to {most} bits for k = {k}, not {precision!r}")
    ieee = 2 ** (k - precision - 1) - 1
    if bias is not None and not (isinstance(bias, int) and -60 <= bias - ieee <= 60):
        raise ValueError(f"bias is within 60 of {ieee} for this k and precision, not {bias!r}")
    title = name or f"E{k - precision}M{precision - 1} (k={k})"
    info = replace(
        known.format_info_binary16,
        name=title,
        k=k,
        precision=precision,
        bias=ieee if bias is None else bias,
        num_high_nans=2 ** (precision - 1) - 1,
    )
    return Format(title, info)


FP64 = Format("FP64", known.format_info_binary64)
FP32 = Format("FP32", known.format_info_binary32)
TF32 = make(19, 11, name="TF32")
FP16 = Format("FP16", known.format_info_binary16)
BF16 = Format("BF16", known.format_info_bfloat16)
E4M3 = Format("FP8 E4M3", known.format_info_ocp_e4m3)
E5M2 = Format("FP8 E5M2", known.format_info_ocp_e5m2)
E2M3 = Format("FP6 E2M3", known.format_info_ocp_e2m3)
E3M2 = Format("FP6 E3M2", known.format_info_ocp_e3m2)
E2M1 = Format("FP4 E2M1", known.format_info_ocp_e2m1)
E8M0 = Format("E8M0 scale", known.format_info_ocp_e8m0)
INT8 = Format("INT8", replace(known.format_info_ocp_int8, bias=-6))  # whole numbers
ALL = (FP64, FP32, TF32, FP16, BF16, E4M3, E5M2, E2M3, E3M2, E2M1, E8M0, INT8)
