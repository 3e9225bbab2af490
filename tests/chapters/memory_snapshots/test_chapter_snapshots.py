"""Chapter 9's snapshots: those shipped are up to date; one of a GPU, a pretended one, is kept."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from course_utils.chapters.memory_snapshots import chapter_snapshots
from course_utils.chapters.memory_snapshots.allocator_map import draw_blocks
from course_utils.chapters.memory_snapshots.chapter_snapshots import (
    FOLDER,
    PROGRAMS_FILE,
    passes,
    record_snapshot,
    recorded_snapshot,
    shown,
)
from course_utils.chapters.memory_snapshots.programs import PROGRAMS
from course_utils.core import evidence, files, recording
from course_utils.memory.made_snapshots import made, write
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
    for find in (chapter_snapshots.snapshot_file, recorded_snapshot):
        with pytest.raises(LookupError, match="there are snapshot_step_fp32"):
            find("snapshot_of_nothing")


NATIVE = "std::vector<at::Tensor> torch::autograd::generated::AddBackward0::apply(std::vector&&)"
STACK = [
    {"name": "at::_ops::add::call(at::Tensor const&)", "filename": "??", "line": 0},
    {"name": "c10::cuda::malloc(unsigned long)", "filename": "/build/c10.cpp", "line": 0},
    {"name": NATIVE, "filename": "/build/x.cpp", "line": 0},
    {"name": "f", "filename": "/home/someone/memory_snapshots/programs.py", "line": 1},
]


@pytest.fixture
def recording_on_a_gpu(monkeypatch, tmp_path):
    """A GPU as far as taking snapshots goes, and recording into an empty folder."""
    monkeypatch.setattr(files, "RECORDED", tmp_path)
    monkeypatch.setitem(PROGRAMS, "snapshot_leak", print)
    monkeypatch.setenv(evidence.CHAPTER, "09_memory_snapshots")
    monkeypatch.setenv(recording.RECORD_TO, str(tmp_path))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(chapter_snapshots, "emptied", lambda: 0)
    for name in ("max_memory_allocated", "max_memory_reserved"):
        monkeypatch.setattr(torch.cuda, name, lambda: 5)


def take(program, path):
    content = made(lambda: torch.ones(10))
    for event in content["device_traces"][0]:
        event["frames"] = [dict(frame) for frame in STACK]
    write(content, path)


@pytest.mark.usefixtures("recording_on_a_gpu")
def test_a_kept_snapshot_has_short_names_its_digest_and_no_predecessor(tmp_path):
    record_snapshot("snapshot_leak", lambda _, path: write(made(list), path))
    record_snapshot("snapshot_leak", take)
    (path,) = tmp_path.rglob("*.pickle")
    assert recorded_snapshot("snapshot_leak") == path
    names = {(f.name, f.filename) for stack in load(path).stacks for f in stack}
    backward = "torch::autograd::generated::AddBackward0::apply"
    assert names == {
        ("at::_ops::add::call", ""),
        (backward, ""),
        ("f", PROGRAMS_FILE),
    }
    assert b"someone" not in path.read_bytes()
    (note,) = tmp_path.rglob("*.json")
    (row,) = json.loads(note.read_text())["rows"]
    assert row["file_sha256"].startswith(path.name.split(".")[1])
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(evidence.EvidenceError, match="git checkout"):
        recorded_snapshot("snapshot_leak")


def test_the_passes_of_the_recorded_steps_come_in_order_and_the_peak_is_in_the_second_backward():
    found = passes(None)
    assert [name for name, _, _ in found] == ["forward", "backward", "optimizer"] * 2
    bounds = [moment for _, *both in found for moment in both]
    assert bounds == sorted(bounds)
    _, start, end = found[4]
    assert start <= shown("snapshot_step_fp32", {"snapshot_step_fp32": None}).peak < end


def test_a_map_of_blocks_has_every_byte_and_what_was_wanted():
    def block(address, size, segment, requested=0):
        return SimpleNamespace(address=address, size=size, segment=segment, requested=requested)

    blocks = [block(96, 4, 96, 4), block(0, 16, 0), block(16, 8, 0, 8), block(24, 8, 0)]
    said = draw_blocks("A map", blocks, wanted=17).drawn
    assert "12 B of 36 B reserved are allocated (33%)" in said
    assert "largest free block has 16 B" in said and "wanted: 17 B" in said
