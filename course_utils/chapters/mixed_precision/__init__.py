"""Chapter 07, "Mixed precision"."""

from course_utils.core.doors import door

ROOMS, __getattr__, __dir__ = door(
    __name__,
    {
        "autocast_rules": (
            "MIXED OPERATORS autocast_table cuda_dtype dtype_by_rules dtypes_by_rules "
            "dtypes_on_gpu inputs_of mixed_table"
        ),
        "panels": "beside_reference",
        "product_precision": "at_precision",
        "gpt_on_gpu": "measured_step predicted_step",
        "step_bytes_widget": "break_even step_bytes_explorer",
        "legible_rows": "legible",
        "watching": "activation_gradients reads waits",
    },
)
