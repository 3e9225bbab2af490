"""Chapter 05, "Input pipeline"."""

from course_utils.core.doors import door

ROOMS, __getattr__, __dir__ = door(
    __name__,
    {"libraries": "hush_libraries installed write_forms", "sum_widget": "sum_explorer"},
)
