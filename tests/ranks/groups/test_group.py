"""Which backend and device a group of ranks gets."""

import time
from datetime import timedelta

import pytest
import torch.distributed as dist
import torch.distributed.distributed_c10d as c10d

from course_utils.ranks.groups.group import OPENED_AS, Group, choose_backend


@pytest.mark.parametrize(
    "n, gpus, wanted, rank, chosen",
    [
        (4, 0, None, 1, ("gloo", "cpu")),
        (4, 4, None, 1, ("nccl", "cuda:1")),
        (2, 8, None, 1, ("nccl", "cuda:1")),
        (4, 1, None, 1, ("gloo", "cpu")),
        (4, 1, "cuda", 1, ("gloo", "cuda:0")),
        (4, 2, "cuda", 3, ("gloo", "cuda:1")),
        (4, 4, "cpu", 1, ("gloo", "cpu")),
        (2, 2, "cuda", 0, ("nccl", "cuda:0")),
    ],
)
def test_ranks_get_a_gpu_each_or_share_over_gloo(n, gpus, wanted, rank, chosen):
    assert choose_backend(n, gpus, rank, wanted) == chosen


def test_cuda_without_a_gpu_is_a_sentence():
    with pytest.raises(ValueError, match="needs a GPU"):
        choose_backend(2, 0, 0, "cuda")


def test_with_nccl_a_group_takes_cpu_tensors_too():
    assert OPENED_AS == {"nccl": "cpu:gloo,cuda:nccl"}
    config = c10d.BackendConfig(OPENED_AS["nccl"])
    assert config.get_device_backend_map()["cpu"] == "gloo"
    assert config.get_device_backend_map()["cuda"] == "nccl"


@pytest.fixture
def unwrapped(monkeypatch):
    """Puts torch's own functions back that a Group replaces."""
    for owner, name in ((dist, "init_process_group"), (c10d, "init_process_group"),
                        (c10d, "_new_process_group_helper")):  # fmt: skip
        monkeypatch.setattr(owner, name, getattr(owner, name))
    yield
    dist.destroy_process_group()


@pytest.mark.parametrize("backend", ["gloo", "nccl"])  # what is aborted here is gloo's all the same
@pytest.mark.parametrize("end", [Group.give_up, Group.close])
def test_a_group_that_was_ended_is_opened_anew(end, backend, tmp_path, unwrapped):
    group = Group(0, 1, str(tmp_path), None)
    group.backend, order = "gloo", {"key": "a", "timeout": 60, "debug": False}
    group.prepare(order)
    old, group.backend = dist.group.WORLD, backend
    end(group)
    group.give_up()  # of nothing
    group.backend = "gloo"
    group.prepare({**order, "key": "b", "anew": True})
    assert dist.group.WORLD is not old
    dist.barrier()


def test_a_group_that_was_given_up_has_no_key_to_wait_for(tmp_path, unwrapped):
    group = Group(0, 1, str(tmp_path), None)
    group.backend = "gloo"
    group.prepare({"key": "a", "timeout": 60, "debug": False})
    store = c10d._get_default_store()
    group.give_up()
    begun = time.monotonic()
    with pytest.raises(RuntimeError):
        store.wait(["nobody sets it"], timedelta(seconds=20))
    assert time.monotonic() - begun < 10
