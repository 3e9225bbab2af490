"""The reader's side of a page: set-up, the catalog of chapters, progress, exercises, the map."""

from course_utils.core.doors import door

ROOMS, __getattr__, __dir__ = door(
    __name__,
    {
        "drawn_map": "chapter_list course_map recorded_on",
        "progress": "report",
    },
)
