"""Chapter 02, "Async execution"."""

from course_utils.core.public_names import public_names

MODULE_OF, __getattr__, __dir__ = public_names(
    __name__,
    {
        "blockers": "find_blockers",
        "queue_widget": "command_queue",
        "side_by_side": "hold",
    },
)
