"""Set-up, catalog of chapters, predictions, exercises, progress and map, for the reader."""

from course_utils.core.doors import door

ROOMS, __getattr__, __dir__ = door(
    __name__,
    {
        "drawn_map": "chapter_list course_map recorded_on",
        "progress": "report",
    },
)
