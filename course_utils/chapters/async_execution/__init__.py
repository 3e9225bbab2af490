"""Chapter 02, "Async execution"."""

from course_utils.core.doors import door

ROOMS, __getattr__, __dir__ = door(
    __name__,
    {
        "blockers": "find_blockers",
        "queue_widget": "command_queue",
        "side_by_side": "drain hold three_times",
        "streams": "queue_spans",
        "timed_copies": "copy_cases time_copies",
    },
)
