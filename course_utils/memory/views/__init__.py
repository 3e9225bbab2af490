"""A memory history in pictures and widgets."""

from course_utils.core.public_names import public_names

MODULE_OF, __getattr__, __dir__ = public_names(
    __name__, {"pictures": "SegmentsMap draw_histories draw_timeline MemoryTimeline"}
)
