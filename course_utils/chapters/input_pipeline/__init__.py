"""Chapter 05, "Input pipeline"."""

from course_utils.core.public_names import public_names

MODULE_OF, __getattr__, __dir__ = public_names(
    __name__,
    {
        "libraries": "make_jpegs readers write_files",
        "page_cells": "Watch cpu_seconds forget new_folder own_bytes prepare settled time_ways",
        "pipeline": "simulate",
        "pipeline_widget": "pipeline_explorer",
    },
)
