"""What is taken of torch's inside is there."""

import inspect
from datetime import timedelta

import torch
import torch.distributed as dist
import torch.multiprocessing.queue

import notebook_ranks as ranks
from notebook_ranks.groups import notes, spawned, torch_inside

c10d = dist.distributed_c10d
NAMES = ("_set_pg_timeout", "_world", "_abort_process_group", "_new_process_group_helper",
         "_unregister_all_process_groups")  # fmt: skip
MAPS = ("pg_map", "pg_names", "pg_group_ranks", "pg_backend_config", "pg_to_tag", "tags_to_pg")


def test_this_torch_has_all_that_is_taken_of_it(tmp_path):
    assert [name for name in NAMES if not hasattr(c10d, name)] == []
    assert len(list(torch_inside.recorders())) == 1  # NCCL's own comes with CUDA
    assert all(map(inspect.isclass, torch_inside.classes()))
    assert torch_inside.patience_of(None) == 0
    store, wait = dist.FileStore(str(tmp_path / "store"), 1), timedelta(seconds=70)
    dist.init_process_group("gloo", store=store, rank=0, world_size=1, timeout=wait)
    assert torch_inside.patience_of(dist.group.WORLD) == 70
    dist.destroy_process_group()


def test_what_is_replaced_is_called_as_it_was():
    """A torch that has renamed one of these would go on, and nothing would be noted of it."""
    group, store, work, future = torch_inside.classes()
    wanted = [(group, (*notes.COLLECTIVES.split(), "send", "recv", "recv_anysource"))]
    wanted += [(store, notes.LOOKUPS), (work, ["wait"]), (future, ["wait"]), (c10d._world, MAPS)]
    wanted += [(module, [name]) for module, name in spawned.TALKERS]
    wanted += [(torch.multiprocessing.queue, ["ForkingPickler"])]
    assert [n for owner, names in wanted for n in names if not hasattr(owner, n)] == []
    assert {"backend", "store", "rank", "world_size", "timeout", "init_method"} <= set(
        inspect.signature(dist.init_process_group).parameters
    )
    helper = inspect.signature(c10d._new_process_group_helper).parameters
    assert {"group_size", "global_ranks_in_group", "group_name"} <= set(helper)  # read by `waits`


def test_ranks_that_cannot_be_counted_get_their_group_anew_after_a_failure(said, failing):
    ranks.start(2)
    ranks.restart()
    ranks.run_cell("mine = rank")
    unknown = "from notebook_ranks.groups import torch_inside\n"
    assert said(f"{unknown}torch_inside.calls_of = lambda _: None") == ""  # it succeeded: believed
    assert "can't be known. The next cell opens" in failing("1 / 0")
    told = said("x = torch.ones(1)\ndist.all_reduce(x)\nx.item(), mine")
    assert told == "[rank 0] (2.0, 0)\n[rank 1] (2.0, 1)\n"
    ranks.restart()
