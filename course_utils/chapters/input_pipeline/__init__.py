"""Chapter 05, "Input pipeline"."""

from course_utils.core.doors import door

ROOMS, __getattr__, __dir__ = door(
    __name__, {"pipeline": "epoch_seconds simulate", "pipeline_widget": "pipeline_explorer"}
)
