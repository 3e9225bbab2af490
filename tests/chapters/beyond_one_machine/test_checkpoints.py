"""Checkpoints: whole or not at all, refused in a sentence, equal after the way through a file."""

import os

import pytest
import torch

from course_utils.chapters.beyond_one_machine import checkpoints
from course_utils.chapters.beyond_one_machine.checkpoints import CheckpointError
from tests.support.page_cells import cells_of

PAGE: dict = {}
exec(cells_of("16")["keep"], PAGE)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "step-0004.pt"


def save(path, state, world_size=1):
    PAGE["write_whole"](str(path), checkpoints.packed(state, world_size))


def state(step=4):
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.ones(3)).sum().backward()
    optimizer.step()
    return {"step": step, "model": model.state_dict(), "optimizer": optimizer.state_dict()}


def test_what_is_loaded_is_what_was_saved_to_the_bit(path):
    saved = state()
    save(path, saved, 2)
    found = checkpoints.load(path, 2)
    assert found["step"] == 4
    for name, value in saved["model"].items():
        assert torch.equal(found["model"][name], value)
    moments = saved["optimizer"]["state"][0]["exp_avg"]
    assert torch.equal(found["optimizer"]["state"][0]["exp_avg"], moments)


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_where_writing_fails_the_old_checkpoint_stays_alone(path, monkeypatch, step):
    save(path, {"step": 1})

    def fails(*_):
        raise OSError("no space left")

    with monkeypatch.context() as broken:
        broken.setattr(os, step, fails)
        with pytest.raises(OSError, match="no space"):
            save(path, {"step": 2})
    assert checkpoints.load(path) == {"step": 1}
    assert checkpoints.newest(path.parent) == path


@pytest.mark.parametrize("left", [0, 7, 40, 100, -1])
def test_one_cut_short_is_refused_and_the_one_before_is_the_newest(path, left):
    before = path.with_name("step-0002.pt")
    save(before, state(2))
    save(path, state())
    assert checkpoints.newest(path.parent) == path
    path.write_bytes(path.read_bytes()[:left])
    with pytest.raises(CheckpointError, match=r"step-0004\.pt is"):
        checkpoints.load(path)
    assert checkpoints.newest(path.parent) == before
    assert checkpoints.newest(path.parent / "nowhere") is None


def test_one_changed_byte_is_noticed_and_a_file_of_someone_else_is_refused(path):
    save(path, state())
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match=r"checksum.*the one before"):
        checkpoints.load(path)
    torch.save({"step": 1}, path)
    with pytest.raises(CheckpointError, match="isn't a checkpoint of this course"):
        checkpoints.load(path)


def test_another_world_size_is_refused_unless_only_what_fits_is_wanted(path):
    save(path, state(), 2)
    with pytest.raises(CheckpointError, match=r"saved by 2 ranks, and here are 4\. Start 2"):
        checkpoints.load(path, 4)
    assert checkpoints.load(path)["step"] == 4


def test_random_numbers_go_on_where_they_were_a_gpus_too_where_one_is_in_use(monkeypatch):
    given = []
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_rng_state", lambda: torch.arange(3))
    monkeypatch.setattr(torch.cuda, "set_rng_state", given.append)
    kept = checkpoints.random_states()
    first = torch.rand(3)
    checkpoints.set_random_states(kept)
    assert torch.equal(torch.rand(3), first) and torch.equal(given[0], torch.arange(3))
