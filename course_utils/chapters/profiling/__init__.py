"""Chapter 03, "Profiling"."""

from course_utils.core.public_names import public_names

MODULE_OF, __getattr__, __dir__ = public_names(
    __name__,
    {
        "diagnosis": "lanes made_run run_names seconds_in",
        "page_cells": "busy_by_smi Clocked scratch_file sums_file SumsFile",
        "shares": "COLOURS draw_shares",
        "zoom": "draw_zoom queue",
    },
)
