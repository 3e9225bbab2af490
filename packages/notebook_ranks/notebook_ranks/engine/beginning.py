"""What a rank has before its first cell: its group, its variables, numbers of its own to draw."""

import os
import random
import sys
import types
from importlib import import_module
from typing import Any, NamedTuple

from notebook_ranks.cells import chain, shell, stand_ins
from notebook_ranks.engine import wire
from notebook_ranks.groups import notes, spawned
from notebook_ranks.groups.group import Group, choose_backend


class Ids(NamedTuple):
    """Which rank this is, of how many, and which of those on its machine."""

    rank: int
    world_size: int
    local_rank: int


def open_group(ids: Ids, welcome: wire.Message, server: Any) -> Group:
    """The rank's group, with its backend and device; `server` is the store that rank 0 holds."""
    import torch
    import torch.distributed as dist

    if welcome["folder"] is None and server is None:
        server = dist.TCPStore(welcome["host"], welcome["port"], is_master=False)
    notes.install()
    group = Group(ids.rank, ids.world_size, welcome["folder"], server)
    gpus = torch.cuda.device_count() if welcome["device"] != "cpu" else 0
    here = int(os.environ.get("LOCAL_WORLD_SIZE", ids.world_size))
    found = choose_backend(here, gpus, ids.local_rank, welcome["device"])
    group.backend, group.device = found
    if group.device.startswith("cuda"):
        torch.cuda.set_device(group.device)
    return group


def namespace(ids: Ids, group: Group) -> dict[str, Any]:
    """The variables of the rank's cells, in a `__main__` of their own."""
    import torch
    import torch.distributed as dist

    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", 1)))
    _seed(ids.rank)
    module = types.ModuleType("__main__")
    sys.modules["__main__"] = module
    spawned.install(group.folder)
    stand_ins.install()
    chain.install()
    found = module.__dict__
    found |= {"torch": torch, "dist": dist, "device": torch.device(group.device or "cpu")}
    found |= {**ids._asdict(), "get_ipython": shell.get_ipython}
    return found


def prepare() -> None:
    """Calls the function that PREPARE names, as "module:function"; it takes no arguments."""
    module, _, function = os.environ.get(wire.PREPARE, "").partition(":")
    if function:
        try:
            getattr(import_module(module), function)()
        except Exception as error:
            error.add_note(f"{wire.PREPARE} asks every rank to call {module}:{function} first.")
            raise


def _seed(rank: int) -> None:
    """Each rank draws its own numbers, the same ones in every run."""
    import numpy
    import torch

    random.seed(rank)
    numpy.random.seed(rank)
    torch.manual_seed(rank)
