"""Snapshots taken on a GPU, a pretended one, and kept: short, whole, and told from others."""

import json

import pytest
import torch

from course_utils.core import evidence, files, recording
from course_utils.memory import kept_snapshots
from course_utils.memory.kept_snapshots import kept, take_snapshot
from course_utils.memory.made_snapshots import made, write
from snapshots_and_traces.snapshots.loading import load

OF = "09_memory_snapshots/snapshot_leak"
NATIVE = "std::vector<at::Tensor> torch::autograd::generated::AddBackward0::apply(std::vector&&)"
STACK = [
    {"name": "at::_ops::add::call(at::Tensor const&)", "filename": "??", "line": 0},
    {"name": "c10::cuda::malloc(unsigned long)", "filename": "/build/c10.cpp", "line": 0},
    {"name": NATIVE, "filename": "/build/x.cpp", "line": 0},
    {"name": "f", "filename": "/home/someone/course/a.py", "line": 1},
]


@pytest.fixture(autouse=True)
def recording_on_a_gpu(monkeypatch, tmp_path):
    """A GPU as far as taking snapshots goes, and recording into an empty folder."""
    monkeypatch.setenv(evidence.CHAPTER, "09_memory_snapshots")
    monkeypatch.setenv(recording.RECORD_TO, str(tmp_path))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(kept_snapshots, "emptied", lambda: 0)
    for name in ("max_memory_allocated", "max_memory_reserved"):
        monkeypatch.setattr(torch.cuda, name, lambda: 5)


def take(program, path):
    content = made(lambda: torch.ones(10))
    for event in content["device_traces"][0]:
        event["frames"] = [dict(frame) for frame in STACK]
    write(content, path)


def test_a_kept_snapshot_has_short_names_its_digest_and_no_predecessor(monkeypatch, tmp_path):
    monkeypatch.setattr(files, "RECORDED", tmp_path)
    take_snapshot(OF, print, "course/a.py", lambda _, path: write(made(list), path))
    take_snapshot(OF, print, "course/a.py", take)
    (path,) = tmp_path.rglob("*.pickle")
    assert kept(OF) == path
    names = {(f.name, f.filename) for stack in load(path).stacks for f in stack}
    backward = "torch::autograd::generated::AddBackward0::apply"
    assert names == {("at::_ops::add::call", ""), (backward, ""), ("f", "course/a.py")}
    assert b"someone" not in path.read_bytes()
    (note,) = tmp_path.rglob("*.json")
    (row,) = json.loads(note.read_text())["rows"]
    assert row["file_sha256"].startswith(path.name.split(".")[1])
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(evidence.EvidenceError, match="git checkout"):
        kept(OF)
