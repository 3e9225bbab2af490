"""Chapter 07, "Mixed precision"."""

from course_utils.core.doors import door

ROOMS = {
    "OPERATORS": "autocast_rules",
    "dtype_by_rules": "autocast_rules",
    "inputs_of": "autocast_rules",
    "step_bytes_explorer": "step_bytes_widget",
}

__getattr__, __dir__ = door(__name__, ROOMS)
