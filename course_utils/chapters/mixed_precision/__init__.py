"""Chapter 07, "Mixed precision"."""

from course_utils.core.public_names import public_names

MODULE_OF, __getattr__, __dir__ = public_names(
    __name__,
    {
        "autocast_rules": (
            "OPERATORS autocast_table cuda_dtype dtypes_by_rules dtypes_on_gpu inputs_of"
        ),
        "gpt_on_gpu": "measured_step",
        "step_bytes_widget": "step_bytes_explorer",
        "legible_rows": "by_format legible",
        "watching": "activation_gradients at_precision",
    },
)
