"""Chapter 18, "Your own run"."""

from course_utils.core.public_names import public_names

MODULE_OF, __getattr__, __dir__ = public_names(
    __name__,
    {
        "figures": "draw_ladder what_if",
        "printing": "as_printed",
        "strange_scripts": "hand_out show_reports",
    },
)
