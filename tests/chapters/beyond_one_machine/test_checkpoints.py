"""Checkpoints: whole or not at all, refused in a sentence, equal after the way through a file."""

import os
import signal
import subprocess
import sys
import time

import pytest
import torch

from course_utils.chapters.beyond_one_machine import checkpoints
from course_utils.chapters.beyond_one_machine.checkpoints import CheckpointError
from course_utils.core import files

WRITER = """
import sys, torch
from course_utils.chapters.beyond_one_machine import checkpoints
for step in range(10**6):
    checkpoints.save(sys.argv[1], {"step": step, "x": torch.full((400_000,), float(step))})
    print(step, flush=True)
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "kept" / "step-0004.pt"


def state(step=4):
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.ones(3)).sum().backward()
    optimizer.step()
    return {"step": step, "model": model.state_dict(), "optimizer": optimizer.state_dict()}


def test_what_is_loaded_is_what_was_saved_to_the_bit(path):
    saved = state()
    assert checkpoints.save(path, saved, 2) == path.stat().st_size
    found = checkpoints.load(path, 2)
    assert found["step"] == 4
    for name, value in saved["model"].items():
        assert torch.equal(found["model"][name], value)
    moments = saved["optimizer"]["state"][0]["exp_avg"]
    assert torch.equal(found["optimizer"]["state"][0]["exp_avg"], moments)


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_where_writing_fails_the_old_checkpoint_stays_alone(path, monkeypatch, step):
    checkpoints.save(path, {"step": 1})

    def fails(*_):
        raise OSError("no space left")

    with monkeypatch.context() as broken:
        broken.setattr(os, step, fails)
        with pytest.raises(OSError, match="no space"):
            checkpoints.save(path, {"step": 2})
    assert checkpoints.load(path) == {"step": 1}
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_a_writer_that_is_killed_leaves_a_whole_checkpoint(path):
    own = {**os.environ, "PYTHONPATH": str(files.ROOT)}
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True, env=own
    )
    try:
        seen = [int(writer.stdout.readline()) for _ in range(3)]
        time.sleep(0.03)
    finally:
        writer.send_signal(signal.SIGKILL)
        writer.wait()
    seen += [int(line) for line in writer.stdout.read().split()]
    writer.stdout.close()
    found = checkpoints.load(path)
    assert found["step"] >= seen[-1] and bool((found["x"] == found["step"]).all())


@pytest.mark.parametrize("left", [0, 7, 40, 100, -1])
def test_one_cut_short_is_refused_and_the_one_before_is_the_newest(path, left):
    before = path.with_name("step-0002.pt")
    checkpoints.save(before, state(2))
    checkpoints.save(path, state())
    assert checkpoints.newest(path.parent) == path
    path.write_bytes(path.read_bytes()[:left])
    with pytest.raises(CheckpointError, match=r"step-0004\.pt is"):
        checkpoints.load(path)
    assert checkpoints.newest(path.parent) == before


def test_one_changed_byte_is_noticed(path):
    checkpoints.save(path, state())
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match=r"checksum.*the one before"):
        checkpoints.load(path)


def test_another_world_size_is_refused_unless_only_what_fits_is_wanted(path):
    checkpoints.save(path, state(), 2)
    with pytest.raises(CheckpointError, match=r"saved by 2 ranks, and here are 4\. Start 2"):
        checkpoints.load(path, 4)
    assert checkpoints.load(path)["step"] == 4


def test_a_file_of_someone_else_is_refused_before_anything_in_it_runs(path):
    path.parent.mkdir()
    torch.save({"step": 1}, path)
    with pytest.raises(CheckpointError, match="isn't a checkpoint of this course"):
        checkpoints.load(path)


def test_an_empty_folder_has_no_newest(tmp_path):
    assert checkpoints.newest(tmp_path / "nowhere") is None


def test_random_numbers_go_on_where_they_were():
    kept = checkpoints.random_states()
    first = torch.rand(3)
    checkpoints.set_random_states(kept)
    assert torch.equal(torch.rand(3), first)


def test_a_gpus_random_numbers_are_kept_where_one_is_in_use(monkeypatch):
    given = []
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_rng_state", lambda: torch.arange(3))
    monkeypatch.setattr(torch.cuda, "set_rng_state", given.append)
    checkpoints.set_random_states(checkpoints.random_states())
    assert torch.equal(given[0], torch.arange(3))
