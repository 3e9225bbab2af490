"""Chapter 14, "Beyond one machine"."""

from course_utils.core.doors import door

ROOMS, __getattr__, __dir__ = door(
    __name__,
    {
        "launching": "Launched write_program",
        "learning": "tens_digits",
        "save_widget": "save_explorer",
        "stopped_runs": "share_kept",
    },
)
