"""Chapter 14, "Beyond one machine"."""

from course_utils.core.doors import door

ROOMS, __getattr__, __dir__ = door(
    __name__,
    {
        "learning": "tens_digits",
        "launching": "Launched write_program",
    },
)
