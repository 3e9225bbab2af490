"""Traces as the pages of the course show them, and those that others published."""

from course_utils.core.doors import door

ROOMS, __getattr__, __dir__ = door(__name__, {"still": "trace_page", "stored": "published_trace"})
