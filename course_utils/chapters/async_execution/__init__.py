"""Chapter 02, "Async execution"."""

from course_utils.core.doors import door

ROOMS = {
    "find_blockers": "blockers",
    "command_queue": "queue_widget",
    "queue_seconds": "streams",
}

__getattr__, __dir__ = door(__name__, ROOMS)
