"""Profiler traces that anyone wrote: read without trust, and what they say of a run."""

from course_utils.core.doors import door

ROOMS, __getattr__, __dir__ = door(__name__, {"page.page": "trace_page", "reading": "read_trace"})
