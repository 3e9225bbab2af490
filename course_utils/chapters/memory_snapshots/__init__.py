"""Chapter 09, "Memory snapshots"."""

from course_utils.core.doors import door

ROOMS, __getattr__, __dir__ = door(
    __name__,
    {
        "chapter_snapshots": "on_gpus record_snapshot snapshot_file",
        "on_real_gpus": "bert_on_3090 knobs real_runs reserved_with",
        "peak_by_model": "build_of in_gib provenance recorded_in_gib to_measure wrong_by",
        "programs": "CONFIG",
        "published_snapshots": "agreed losses published_snapshot replayed_rows",
    },
)
