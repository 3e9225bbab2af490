"""Profiler traces that anyone wrote: read without trust, and what they say of a run."""

from course_utils.core.doors import door

ROOMS, __getattr__, __dir__ = door(
    __name__,
    {
        "cutting": "cut",
        "kernel_classes": "kernel_class seconds_by_class",
        "reading": "read_trace",
        "stored": "published_trace",
    },
)
