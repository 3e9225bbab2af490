"""The snapshots that the course ships: made of real code, in torch's schema, and up to date."""

import json
from pathlib import Path

import pytest
import torch

from course_utils.chapters.memory_snapshots import chapter_snapshots
from course_utils.chapters.memory_snapshots.chapter_snapshots import FOLDER
from course_utils.chapters.memory_snapshots.programs import PROGRAMS
from course_utils.core import evidence, files, recording
from course_utils.memory import kept_snapshots
from course_utils.memory.made_snapshots import made, write
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


@pytest.fixture
def gpu(monkeypatch):
    """A GPU as far as taking snapshots goes."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(kept_snapshots, "emptied", lambda: 0)
    for name in ("max_memory_allocated", "max_memory_reserved"):
        monkeypatch.setattr(torch.cuda, name, lambda: 5)


NATIVE = "std::vector<at::Tensor> torch::autograd::generated::AddBackward0::apply(std::vector&&)"
STACK = [
    {"name": "at::_ops::add::call(at::Tensor const&)", "filename": "??", "line": 0},
    {"name": "c10::cuda::malloc(unsigned long)", "filename": "/build/c10.cpp", "line": 0},
    {"name": NATIVE, "filename": "/build/x.cpp", "line": 0},
    {"name": "f", "filename": "/home/someone/course/a.py", "line": 1},
]


def take(program, path):
    content = made(lambda: torch.ones(10))
    for event in content["device_traces"][0]:
        event["frames"] = [dict(frame) for frame in STACK]
    write(content, path)


def test_without_a_gpu_no_snapshot_is_taken(chapter, monkeypatch, tmp_path):
    monkeypatch.setenv(recording.RECORD_TO, str(tmp_path))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert chapter_snapshots.record_snapshot("snapshot_leak", pytest.fail) is None
    assert not list(tmp_path.rglob("*"))


def test_on_a_gpu_a_snapshot_is_taken_though_nothing_records(chapter, gpu, monkeypatch, tmp_path):
    monkeypatch.delenv(recording.RECORD_TO, raising=False)
    monkeypatch.chdir(tmp_path)
    found = chapter_snapshots.record_snapshot("snapshot_leak", take)
    assert found.peak_allocated == 5 and len(found.snapshot.trace())
    assert list(chapter_snapshots.on_gpus("snapshot_leak", found)) == ["live: this GPU"]
    assert not list(tmp_path.rglob("*"))


def test_a_kept_snapshot_has_short_names_its_digest_and_no_predecessor(
    chapter, gpu, monkeypatch, tmp_path
):
    monkeypatch.setenv(recording.RECORD_TO, str(tmp_path))
    monkeypatch.setattr(files, "RECORDED", tmp_path)
    chapter_snapshots.record_snapshot("snapshot_leak", lambda _, path: write(made(list), path))
    chapter_snapshots.record_snapshot("snapshot_leak", take)
    (path,) = tmp_path.rglob("*.pickle")
    assert chapter_snapshots.recorded_snapshot("snapshot_leak") == path
    machine = path.relative_to(tmp_path).parts[0]
    assert list(chapter_snapshots.on_gpus("snapshot_leak", None)) == [f"recorded: {machine}"]
    loaded = snapshot.load(path)
    names = {(f.name, f.filename) for stack in loaded.stacks for f in stack}
    backward = "torch::autograd::generated::AddBackward0::apply"
    assert names == {("at::_ops::add::call", ""), (backward, ""), ("f", "course/a.py")}
    assert b"someone" not in path.read_bytes()
    (kept,) = tmp_path.rglob("*.json")
    (row,) = json.loads(kept.read_text())["rows"]
    assert row["file_sha256"].startswith(path.name.split(".")[1])
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(evidence.EvidenceError, match="git checkout"):
        chapter_snapshots.recorded_snapshot("snapshot_leak")


def test_a_snapshot_too_large_to_be_kept_is_refused(chapter, gpu, monkeypatch, tmp_path):
    monkeypatch.setenv(recording.RECORD_TO, str(tmp_path))
    monkeypatch.setattr(kept_snapshots, "LARGEST_KEPT", 100)
    with pytest.raises(evidence.EvidenceError, match="at most 100 are kept"):
        chapter_snapshots.record_snapshot("snapshot_leak", take)
    assert not list(tmp_path.rglob("*"))
