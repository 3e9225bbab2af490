"""Chapter 05, "Input pipeline"."""

from course_utils.core.public_names import public_names

MODULE_OF, __getattr__, __dir__ = public_names(
    __name__,
    {
        "page_cells": "forget new_folder own_bytes prepare settled time_ways",
        "pictures": "make_jpegs write_files",
        "pipeline_widget": "pipeline_explorer",
    },
)
