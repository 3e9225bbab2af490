"""The snapshots that the course ships: made of real code, in torch's schema, and up to date."""

import json
from pathlib import Path

import pytest
import torch

from course_utils import chapter_snapshots, evidence, files, memory, recording, snapshot
from course_utils.made_snapshots import FOLDER, history_of, made, write
from course_utils.memory_history import history
from course_utils.programs import PROGRAMS, training
from course_utils.recorded_trace import recorded_trace
from course_utils.replay import replay


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
    assert replay(recorded_trace(loaded)).exact
    names = {frame.filename for stack in loaded.stacks for frame in stack}
    assert names and all(not Path(n).is_absolute() and n.count("/") <= 1 for n in names)


def test_what_was_made_holds_what_was_counted():
    def run():
        return training(torch.device("cpu"), counted.watch, steps=2, batch=4)

    with memory.count() as counted:
        alive = run()
    del alive
    found = history_of(lambda: training(torch.device("cpu"), steps=2, batch=4))
    assert found.live.max() == counted.peak.total


def test_the_leak_ends_with_several_times_what_a_healthy_run_holds():
    leaking, healthy = (
        history(snapshot.load(FOLDER / f"{name}.pickle")).live[-1]
        for name in ("snapshot_leak", "snapshot_step_fp32")
    )
    assert leaking > 3 * healthy


def test_without_a_recording_the_made_file_is_taken_and_said_to_be_made(chapter):
    path = chapter_snapshots.snapshot_file("snapshot_leak")
    assert path.parent == FOLDER and "made without a GPU" in chapter_snapshots.origin(path)
    with pytest.raises(LookupError, match="there are snapshot_step_fp32"):
        chapter_snapshots.snapshot_file("snapshot_of_nothing")


def test_a_recording_is_taken_and_one_that_was_changed_is_refused(chapter, monkeypatch, tmp_path):
    monkeypatch.setattr(files, "RECORDED", tmp_path)
    folder = tmp_path / "card" / chapter_snapshots.CHAPTER
    folder.mkdir(parents=True)
    path = folder / "snapshot_leak.pickle"
    path.write_bytes((FOLDER / "snapshot_leak.pickle").read_bytes())
    row = {
        "file": str(path.relative_to(tmp_path)),
        "file_sha256": chapter_snapshots._digest(path),
        "peak_allocated_bytes": 1,
        "peak_reserved_bytes": 2,
    }
    monkeypatch.setenv(recording.RECORD_TO, str(tmp_path))
    recording.record("snapshot_leak", [row])
    assert chapter_snapshots.snapshot_file("snapshot_leak") == path
    assert chapter_snapshots.origin(path) == "recorded: card"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(evidence.EvidenceError, match="git checkout"):
        chapter_snapshots.snapshot_file("snapshot_leak")


def test_recording_happens_only_on_a_gpu_while_recording(chapter, monkeypatch, tmp_path):
    monkeypatch.setenv(recording.RECORD_TO, str(tmp_path))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    chapter_snapshots.record_snapshot("snapshot_leak", lambda program, path: pytest.fail("taken"))
    assert not list(tmp_path.rglob("*"))


def test_a_snapshot_taken_on_a_gpu_is_kept_with_short_names_and_its_digest(
    chapter, monkeypatch, tmp_path
):
    monkeypatch.setenv(recording.RECORD_TO, str(tmp_path))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    for name in ("empty_cache", "reset_peak_memory_stats"):
        monkeypatch.setattr(torch.cuda, name, lambda: None)
    for name in ("max_memory_allocated", "max_memory_reserved"):
        monkeypatch.setattr(torch.cuda, name, lambda: 5)

    def take(program, path):
        content = made(lambda: torch.ones(10))
        for event in content["device_traces"][0]:
            event["frames"] = [{"name": "f", "filename": "/home/someone/course/a.py", "line": 1}]
        write(content, path)

    chapter_snapshots.record_snapshot("snapshot_leak", take)
    (path,) = tmp_path.rglob("*.pickle")
    (kept,) = tmp_path.rglob("*.json")
    loaded = snapshot.load(path)
    assert {f.filename for stack in loaded.stacks for f in stack} == {"course/a.py"}
    (row,) = json.loads(kept.read_text())["rows"]
    assert row["file_sha256"] == chapter_snapshots._digest(path)


def test_an_interrupted_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.pickle"
    write({"segments": [], "device_traces": [[]]}, path)
    before = path.read_bytes()
    with pytest.raises(Exception, match="pickle"):
        write({"segments": [lambda: None]}, path)
    assert path.read_bytes() == before
