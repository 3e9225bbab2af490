"""Chapter 09, "Memory snapshots"."""

from course_utils.core.public_names import public_names

MODULE_OF, __getattr__, __dir__ = public_names(
    __name__,
    {
        "chapter_snapshots": "record_snapshot recorded_snapshot shown snapshot_file",
        "programs": "CONFIG growing_cache",
        "published_snapshots": "losses published_snapshot",
        "real_gpus": "build_of in_gib knobs over_prediction reserved_with to_measure",
    },
)
