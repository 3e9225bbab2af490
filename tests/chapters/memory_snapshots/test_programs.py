"""The programs of chapter 9: a leak is one."""

from course_utils.chapters.memory_snapshots.chapter_snapshots import FOLDER
from course_utils.memory.snapshots import snapshot
from course_utils.memory.snapshots.lives import history


def test_the_leak_ends_with_several_times_what_a_healthy_run_holds():
    leaking, healthy = (
        history(snapshot.load(FOLDER / f"{name}.pickle")).live[-1]
        for name in ("snapshot_leak", "snapshot_step_fp32")
    )
    assert leaking > 3 * healthy
