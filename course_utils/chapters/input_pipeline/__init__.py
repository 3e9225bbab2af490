"""Chapter 05, "Input pipeline"."""

from course_utils.core.public_names import public_names

MODULE_OF, __getattr__, __dir__ = public_names(
    __name__,
    {
        "libraries": "hush_libraries installed make_jpegs write_files write_forms",
        "page_cells": "Watch all_ended forget gain_rows new_folder own_bytes prepare "
        "processor_seconds rounded settled time_ways without_gil",
        "pipeline_widget": "pipeline_explorer",
    },
)
