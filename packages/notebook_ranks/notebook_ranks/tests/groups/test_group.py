"""Which backend and device a group of ranks gets, and how it is opened anew."""

import pytest
import torch.distributed as dist
import torch.distributed.distributed_c10d as c10d

from notebook_ranks.groups.group import Group, choose_backend
from notebook_ranks.messages import Grouping


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


@pytest.fixture
def group(monkeypatch):
    """A group of this process alone; torch's own functions are put back that it replaces."""
    for owner, name in ((dist, "init_process_group"), (c10d, "init_process_group"),
                        (c10d, "_new_process_group_helper")):  # fmt: skip
        monkeypatch.setattr(owner, name, getattr(owner, name))
    found = Group(0, 1, dist.TCPStore("127.0.0.1", 0, is_master=True))
    found.prepare("a", Grouping(timeout=600))
    yield found
    dist.destroy_process_group()


@pytest.mark.parametrize("backend", ["gloo", "nccl"])  # what is aborted here is gloo's all the same
@pytest.mark.parametrize("end", [Group.give_up, Group.close])
def test_a_group_that_was_ended_is_opened_anew(end, backend, group):
    old, group.backend = dist.group.WORLD, backend
    end(group)
    group.give_up()  # of nothing
    group.backend = "gloo"
    group.prepare("b", Grouping(timeout=600, anew=True))
    assert dist.group.WORLD is not old
    dist.barrier()
