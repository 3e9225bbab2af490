"""Profiler traces that anyone wrote: read without trust, and what they say of a run."""

from course_utils.core.doors import door

ROOMS, __getattr__, __dir__ = door(
    __name__,
    {
        "cutting": "cut",
        "idle": "breakdown",
        "kernel_classes": "kernel_class seconds_by_class",
        "page.page": "trace_page",
        "reading": "read_trace",
        "report": "summary",
        "stored": "published_trace",
        "trace": "Kind",
    },
)
