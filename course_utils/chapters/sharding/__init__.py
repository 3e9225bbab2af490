"""Chapter 13, "Sharding"."""

from course_utils.core.public_names import public_names

MODULE_OF, __getattr__, __dir__ = public_names(
    __name__,
    {
        "deepspeed_guest": "deepspeed_rows",
        "gathers": "GatherLink",
        "real_steps": "WAYS sharded_row",
        "watching": (
            "Traffic add_as_ring all_numbers collectives gathered most_held most_whole units_of"
        ),
    },
)
