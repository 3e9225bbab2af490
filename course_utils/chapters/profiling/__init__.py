"""Chapter 03, "Profiling"."""

from course_utils.core.doors import door

ROOMS, __getattr__, __dir__ = door(
    __name__,
    {
        "diagnosis": "is_in lanes seconds_in",
        "made_runs": "made_run run_names",
        "page_cells": (
            "as_printed busy_core curve half mean_level own_times published_tips scratch_file "
            "untried_tips"
        ),
        "shares": "draw_shares",
        "smi": "busy_by_smi",
    },
)
