"""Chapter 13, "Sharding"."""

from course_utils.core.public_names import public_names

MODULE_OF, __getattr__, __dir__ = public_names(
    __name__,
    {
        "deepspeed_guest": "deepspeed_rows",
        "watching": "Traffic gradient_bytes most_whole",
        "ways_widget": "ways_explorer",
    },
)
