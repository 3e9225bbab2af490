"""Snapshots taken on a GPU, a pretended one, and kept: short, whole, and told from others."""

import json

import pytest
import torch

from course_utils.core import evidence, files, recording
from course_utils.memory import kept_snapshots
from course_utils.memory.kept_snapshots import kept, take_snapshot
from course_utils.memory.made_snapshots import made, write
from course_utils.memory.snapshots.snapshot import load

OF = "09_memory_snapshots/snapshot_leak"


@pytest.fixture(autouse=True)
def chapter(monkeypatch):
    monkeypatch.setenv(evidence.CHAPTER, "09_memory_snapshots")


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


def test_without_a_gpu_no_snapshot_is_taken(monkeypatch, tmp_path):
    monkeypatch.setenv(recording.RECORD_TO, str(tmp_path))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert take_snapshot(OF, print, "course/a.py", pytest.fail) is None
    assert not list(tmp_path.rglob("*"))


def test_on_a_gpu_a_snapshot_is_taken_though_nothing_records(gpu, monkeypatch, tmp_path):
    monkeypatch.delenv(recording.RECORD_TO, raising=False)
    monkeypatch.chdir(tmp_path)
    found = take_snapshot(OF, print, "course/a.py", take)
    assert found.peak_allocated == 5 and len(found.snapshot.trace())
    assert not list(tmp_path.rglob("*"))


def test_a_kept_snapshot_has_short_names_its_digest_and_no_predecessor(gpu, monkeypatch, tmp_path):
    monkeypatch.setenv(recording.RECORD_TO, str(tmp_path))
    monkeypatch.setattr(files, "RECORDED", tmp_path)
    take_snapshot(OF, print, "course/a.py", lambda _, path: write(made(list), path))
    take_snapshot(OF, print, "course/a.py", take)
    (path,) = tmp_path.rglob("*.pickle")
    assert kept(OF) == path
    loaded = load(path)
    names = {(f.name, f.filename) for stack in loaded.stacks for f in stack}
    backward = "torch::autograd::generated::AddBackward0::apply"
    assert names == {("at::_ops::add::call", ""), (backward, ""), ("f", "course/a.py")}
    assert b"someone" not in path.read_bytes()
    (note,) = tmp_path.rglob("*.json")
    (row,) = json.loads(note.read_text())["rows"]
    assert row["file_sha256"].startswith(path.name.split(".")[1])
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(evidence.EvidenceError, match="git checkout"):
        kept(OF)


def test_a_snapshot_too_large_to_be_kept_is_refused(gpu, monkeypatch, tmp_path):
    monkeypatch.setenv(recording.RECORD_TO, str(tmp_path))
    monkeypatch.setattr(kept_snapshots, "LARGEST_KEPT", 100)
    with pytest.raises(evidence.EvidenceError, match="at most 100 are kept"):
        take_snapshot(OF, print, "course/a.py", take)
    assert not list(tmp_path.rglob("*"))
