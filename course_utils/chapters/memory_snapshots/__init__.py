"""Chapter 09, "Memory snapshots"."""

from course_utils.core.doors import door

ROOMS, __getattr__, __dir__ = door(
    __name__,
    {
        "allocation_curves": "draw_outcomes",
        "broken_rules": "BROKEN",
        "chapter_snapshots": "on_gpus origin record_snapshot snapshot_file",
        "made_snapshots": "on_fake_gpu",
        "peak_by_model": (
            "IDENTIFIES in_gib predicted provenance recorded_in_gib to_measure wrong_by"
        ),
        "programs": "CONFIG PROGRAMS",
        "published_snapshots": "losses published_snapshot",
    },
)
