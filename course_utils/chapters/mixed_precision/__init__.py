"""Chapter 07, "Mixed precision"."""

from course_utils.core.doors import door

ROOMS, __getattr__, __dir__ = door(
    __name__,
    {
        "autocast_rules": "OPERATORS dtype_by_rules inputs_of",
        "step_bytes_widget": "step_bytes_explorer",
    },
)
