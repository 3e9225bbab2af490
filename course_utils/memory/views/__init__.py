"""A memory history in pictures and widgets."""

from course_utils.core.doors import door

ROOMS = {
    "compare": "comparison",
    "draw_comparison": "comparison",
    "PeakIcicle": "peak_icicle",
    "SegmentsMap": "segments_map",
    "draw_histories": "timeline",
    "draw_timeline": "timeline",
    "MemoryTimeline": "timeline",
    "allocation_rows": "words",
}

__getattr__, __dir__ = door(__name__, ROOMS)
