"""Chapter 06, "Floating-point formats"."""

from course_utils.core.doors import door

ROOMS, __getattr__, __dir__ = door(
    __name__,
    {
        "bit_explorer": "BitExplorer",
        "formats": "ALL BF16 E4M3 E5M2 E8M0 FP16 FP32 FP64 INT8 TF32 make",
        "quantizer": "quantize",
    },
)
