"""Chapter 09, "Memory snapshots"."""

from course_utils.core.public_names import public_names

MODULE_OF, __getattr__, __dir__ = public_names(
    __name__,
    {
        "chapter_snapshots": "on_gpus record_snapshot snapshot_file",
        "programs": "CONFIG",
        "published_snapshots": "agreed losses published_snapshot replayed_rows",
        "real_gpus": (
            "bert_on_3090 build_of in_gib knobs provenance real_runs recorded_in_gib reserved_with "
            "to_measure wrong_by"
        ),
    },
)
