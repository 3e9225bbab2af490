"""What is taken of torch's inside is there; where a torch lacks it, less is known, no more."""

import inspect
from datetime import timedelta

import torch.distributed as dist

import notebook_ranks as ranks
from notebook_ranks.groups import torch_inside

c10d = dist.distributed_c10d
NAMES = ("_set_pg_timeout", "_world", "_abort_process_group", "_new_process_group_helper")


def test_this_torch_has_all_that_is_taken_of_it(tmp_path):
    assert [name for name in NAMES if not hasattr(c10d, name)] == []
    assert len(list(torch_inside.recorders())) == 1  # NCCL's own comes with CUDA
    assert all(map(inspect.isclass, torch_inside.classes()))
    assert torch_inside.patience_of(None) == 0
    store, wait = dist.FileStore(str(tmp_path / "store"), 1), timedelta(seconds=70)
    dist.init_process_group("gloo", store=store, rank=0, world_size=1, timeout=wait)
    assert torch_inside.patience_of(dist.group.WORLD) == 70
    dist.destroy_process_group()


def test_ranks_that_cannot_be_counted_get_their_group_anew_after_a_failure(said, failing):
    ranks.start(2)
    ranks.restart()
    ranks.run_cell("mine = rank")
    unknown = "from notebook_ranks.groups import torch_inside\n"
    assert said(f"{unknown}torch_inside.groups = lambda: None") == ""  # it succeeded: believed
    assert "can't be known. The next cell opens" in failing("1 / 0")
    told = said("x = torch.ones(1)\ndist.all_reduce(x)\nx.item(), mine")
    assert told == "[rank 0] (2.0, 0)\n[rank 1] (2.0, 1)\n"
    ranks.restart()
