"""Chapter 11, "Collectives"."""

from course_utils.core.doors import door

ROOMS = {
    "formula": "by_hand",
    "slowest_seconds": "by_hand",
    "Link": "costs",
    "busbw": "costs",
    "fit": "costs",
    "fit_half": "costs",
    "hierarchical_seconds": "costs",
    "pipelined_tree_seconds": "costs",
    "ring_seconds": "costs",
    "seconds_from_busbw": "costs",
    "draw_holdings": "rank_blocks",
    "ring_moments": "ring_widget",
    "ring_steps": "ring_widget",
    "ANSWERS": "trials",
    "count_all_reduce": "trials",
    "right_answer": "trials",
    "sum_by": "trials",
    "time_all_reduces": "trials",
    "time_on_gpus": "trials",
}

__getattr__, __dir__ = door(__name__, ROOMS)
