"""Chapter 07, "Mixed precision"."""

from course_utils.core.doors import door

ROOMS, __getattr__, __dir__ = door(
    __name__,
    {
        "autocast_rules": "OPERATORS autocast_table cuda_dtype dtype_by_rules inputs_of",
        "bf16_addition": "addition_gain",
        "gpt_on_gpu": "measured_step",
        "step_bytes_widget": "step_bytes_explorer",
    },
)
