"""Traces as the pages of the course show them, and those that others published."""

from course_utils.core.public_names import public_names

MODULE_OF, __getattr__, __dir__ = public_names(
    __name__, {"still": "trace_page", "stored": "published_trace"}
)
