"""A memory history in pictures and widgets."""

from course_utils.core.doors import door

ROOMS, __getattr__, __dir__ = door(
    __name__,
    {
        "allocation_curves": "draw_outcomes",
        "peak_icicle": "PeakIcicle",
        "segments_map": "SegmentsMap",
        "timeline": "draw_histories draw_timeline MemoryTimeline",
    },
)
