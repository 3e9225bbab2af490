"""Chapter 11, "Collectives"."""

from course_utils.core.public_names import public_names

MODULE_OF, __getattr__, __dir__ = public_names(
    __name__,
    {
        "by_hand": "gpu_seconds slowest_seconds",
        "costs": "Link busbw ring_seconds seconds_from_busbw",
        "rank_blocks": "draw_holdings",
        "ring_widget": "draw_ring_moments ring_moments ring_steps",
        "simulated_ranks": "simulate",
        "tree_picture": "draw_tree",
    },
)
