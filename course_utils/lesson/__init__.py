"""The reader's side of a page: set-up, the catalog of chapters, progress, exercises, the map."""

from course_utils.core.doors import door

ROOMS = {
    "chapter_list": "drawn_map",
    "course_map": "drawn_map",
    "recorded_on": "drawn_map",
    "report": "progress",
}

__getattr__, __dir__ = door(__name__, ROOMS)
