"""The formats that the course speaks of.

Sources: IEEE 754-2019; NVIDIA A100 whitepaper (TF32); "FP8 formats for deep learning"
(Micikevicius et al. 2022); OCP Microscaling Formats (MX) specification 1.0.
"""

from dataclasses import replace

from gfloat import formats as known

from course_utils.chapters.floating_point_formats.float_format import Format

FP32 = Format("FP32", known.format_info_binary32)
TF32 = Format(
    "TF32", replace(known.format_info_binary32, k=19, precision=11, num_high_nans=2**10 - 1)
)
FP16 = Format("FP16", known.format_info_binary16)
BF16 = Format("BF16", known.format_info_bfloat16)
E4M3 = Format("FP8 E4M3", known.format_info_ocp_e4m3)
E5M2 = Format("FP8 E5M2", known.format_info_ocp_e5m2)
E2M3 = Format("FP6 E2M3", known.format_info_ocp_e2m3)
E3M2 = Format("FP6 E3M2", known.format_info_ocp_e3m2)
E2M1 = Format("FP4 E2M1", known.format_info_ocp_e2m1)
INT8 = Format("INT8", replace(known.format_info_ocp_int8, bias=-6))  # whole numbers
ALL = (FP32, TF32, FP16, BF16, E4M3, E5M2, E2M3, E3M2, E2M1, INT8)
