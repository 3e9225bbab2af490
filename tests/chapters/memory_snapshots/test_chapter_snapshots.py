"""The snapshots that the course ships: made of real code, in torch's schema, and up to date."""

from pathlib import Path

import pytest

from course_utils.chapters.memory_snapshots import chapter_snapshots
from course_utils.chapters.memory_snapshots.chapter_snapshots import FOLDER
from course_utils.chapters.memory_snapshots.programs import PROGRAMS
from course_utils.memory.made_snapshots import write
from snapshots_and_traces.replay.recorded import is_repeated
from snapshots_and_traces.snapshots.loading import load


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_shipped_snapshot_is_what_the_program_does_today(name, tmp_path):
    again = tmp_path / "again.pickle"
    write(chapter_snapshots.make(name), again)
    shipped, fresh = (load(path).trace() for path in (FOLDER / f"{name}.pickle", again))
    assert [(e.action, e.addr, e.size, e.category) for e in shipped.events()] == [
        (e.action, e.addr, e.size, e.category) for e in fresh.events()
    ]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_shipped_snapshot_replays_exactly_and_names_no_folder_of_a_machine(name):
    loaded = load(FOLDER / f"{name}.pickle")
    assert is_repeated(loaded)
    names = {frame.filename for stack in loaded.stacks for frame in stack}
    assert names and all(not Path(n).is_absolute() and n.count("/") <= 1 for n in names)


def test_a_snapshot_that_the_course_does_not_ship_is_refused_with_those_there_are():
    for find in (chapter_snapshots.snapshot_file, chapter_snapshots.recorded_snapshot):
        with pytest.raises(LookupError, match="there are snapshot_step_fp32"):
            find("snapshot_of_nothing")
