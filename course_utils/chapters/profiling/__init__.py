"""Chapter 03, "Profiling"."""

from course_utils.core.public_names import public_names

MODULE_OF, __getattr__, __dir__ = public_names(
    __name__,
    {
        "diagnosis": "is_in lanes made_run run_names seconds_in",
        "page_cells": (
            "as_printed busy_core curve half mean_level own_times published_tips scratch_file "
            "untried_tips"
        ),
        "shares": "draw_shares",
        "smi": "busy_by_smi",
    },
)
