"""Chapter 09, "Memory snapshots"."""

from course_utils.core.doors import door

ROOMS = {
    "draw_outcomes": "allocation_curves",
    "BROKEN": "broken_rules",
    "on_gpus": "chapter_snapshots",
    "origin": "chapter_snapshots",
    "record_snapshot": "chapter_snapshots",
    "snapshot_file": "chapter_snapshots",
    "on_fake_gpu": "made_snapshots",
    "IDENTIFIES": "peak_by_model",
    "in_gib": "peak_by_model",
    "predicted": "peak_by_model",
    "provenance": "peak_by_model",
    "recorded_in_gib": "peak_by_model",
    "to_measure": "peak_by_model",
    "wrong_by": "peak_by_model",
    "CONFIG": "programs",
    "PROGRAMS": "programs",
    "losses": "published_snapshots",
    "published_snapshot": "published_snapshots",
}

__getattr__, __dir__ = door(__name__, ROOMS)
