"""Chapter 06, "Floating-point formats"."""

from course_utils.core.public_names import public_names

MODULE_OF, __getattr__, __dir__ = public_names(
    __name__,
    {
        "bit_explorer": "BitExplorer",
        "drawing": "columns exact_lines formats_table",
        "formats": "ALL BF16 E2M1 E4M3 E5M2 FP16 FP32 INT8 TF32",
        "sums": "accumulate_in_fp8 error_of_adding positive",
    },
)
