"""Chapter 09, "Memory snapshots"."""

from course_utils.core.public_names import public_names

MODULE_OF, __getattr__, __dir__ = public_names(
    __name__,
    {
        "allocator_map": "draw_blocks",
        "chapter_snapshots": "passes record_snapshot recorded_snapshot shown snapshot_file",
        "programs": "CONFIG growing_cache",
        "real_gpus": "build_of in_gib knobs over_prediction reserved_with to_measure",
    },
)
