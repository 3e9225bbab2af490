"""Bytes and FLOPs of a training step by a formula, for any size: no model is built."""

from course_utils.core.public_names import public_names

MODULE_OF, __getattr__, __dir__ = public_names(
    __name__,
    {
        "bytes_held": "moments peak",
        "cards": "needed on_card will_it_fit",
        "plans": "Plan relative_time",
        "published_runs": "held_against",
        "shapes": "Shape shape",
        "splits": "Cluster Split cluster",
    },
)
