"""Chapter 17, "Large batches"."""

from course_utils.core.public_names import public_names

MODULE_OF, __getattr__, __dir__ = public_names(
    __name__, {"figures": "draw_spread noise_cloud", "learning": "tens_digits"}
)
