"""Chapter 11, "Collectives"."""

from course_utils.core.doors import door

ROOMS, __getattr__, __dir__ = door(
    __name__,
    {
        "by_hand": "formula slowest_seconds",
        "costs": (
            "Link busbw fit fit_half hierarchical_seconds pipelined_tree_seconds ring_seconds "
            "seconds_from_busbw"
        ),
        "rank_blocks": "draw_holdings",
        "ring_widget": "ring_moments ring_steps",
        "trials": "ANSWERS count_all_reduce right_answer sum_by time_all_reduces time_on_gpus",
    },
)
