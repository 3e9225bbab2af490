"""The snapshots that the course ships: made of real code, in torch's schema, and up to date."""

from pathlib import Path

import pytest

from course_utils.chapters.memory_snapshots import chapter_snapshots
from course_utils.chapters.memory_snapshots.chapter_snapshots import FOLDER
from course_utils.chapters.memory_snapshots.programs import PROGRAMS
from course_utils.core import evidence
from course_utils.memory import kept_snapshots
from course_utils.memory.made_snapshots import write
from course_utils.memory.recorded import is_repeated
from course_utils.memory.snapshots import snapshot


@pytest.fixture
def chapter(monkeypatch):
    monkeypatch.setenv(evidence.CHAPTER, chapter_snapshots.CHAPTER)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_shipped_snapshot_is_what_the_program_does_today(name, tmp_path):
    again = tmp_path / "again.pickle"
    write(chapter_snapshots.make(name), again)
    shipped, fresh = (snapshot.load(path).trace() for path in (FOLDER / f"{name}.pickle", again))
    assert [(e.action, e.addr, e.size, e.category) for e in shipped.events()] == [
        (e.action, e.addr, e.size, e.category) for e in fresh.events()
    ]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_shipped_snapshot_replays_exactly_and_names_no_folder_of_a_machine(name):
    loaded = snapshot.load(FOLDER / f"{name}.pickle")
    assert is_repeated(loaded)
    names = {frame.filename for stack in loaded.stacks for frame in stack}
    assert names and all(not Path(n).is_absolute() and n.count("/") <= 1 for n in names)


def test_only_the_snapshots_that_the_course_ships_are_found(chapter):
    assert chapter_snapshots.snapshot_file("snapshot_leak").parent == FOLDER
    for find in (chapter_snapshots.snapshot_file, chapter_snapshots.recorded_snapshot):
        with pytest.raises(LookupError, match="there are snapshot_step_fp32"):
            find("snapshot_of_nothing")


def test_a_program_is_recorded_under_its_chapter_and_name(chapter, monkeypatch):
    asked = []
    monkeypatch.setattr(kept_snapshots, "take_snapshot", lambda *given: asked.append(given))
    assert chapter_snapshots.record_snapshot("snapshot_leak", print) is None
    assert asked == [
        ("09_memory_snapshots/snapshot_leak", PROGRAMS["snapshot_leak"],
         "memory_snapshots/programs.py", print)
    ]  # fmt: skip


def test_a_program_is_shown_as_just_taken_beside_what_was_recorded(monkeypatch):
    path = FOLDER / "snapshot_leak.pickle"
    monkeypatch.setattr(kept_snapshots, "kept", lambda of: path)
    taken = kept_snapshots.Taken(snapshot.load(path), {}, 5, 5)
    shown = chapter_snapshots.on_gpus("snapshot_leak", taken)
    assert list(shown) == ["live: this GPU", f"recorded: {path.parent.parent.name}"]
