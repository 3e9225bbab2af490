"""Set-up, catalog of chapters, predictions, exercises, progress and map, for the reader."""

from course_utils.core.public_names import public_names

MODULE_OF, __getattr__, __dir__ = public_names(
    __name__,
    {
        "drawn_map": "chapter_list course_map recorded_on",
        "progress": "report",
    },
)
