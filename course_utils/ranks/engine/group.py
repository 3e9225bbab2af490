"""A rank's process group: which backend, and over which store."""

import os
import sys
import tempfile
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

OPENED_AS = {"nccl": "cpu:gloo,cuda:nccl"}  # CPU tensors go through gloo on every machine
Record = dict[str, Any]


def choose_backend(n: int, gpus: int, local_rank: int, wanted: str | None) -> tuple[str, str]:
    """The backend and the device of a rank: nccl with a GPU each, else gloo.

    `n` ranks of this machine share `gpus` GPUs. `wanted` is None, "cpu" or "cuda"; with fewer GPUs
    than ranks, "cuda" shares them over gloo, which moves CUDA tensors in all_reduce, broadcast,
    all_gather, reduce_scatter and all_to_all, and not in send, recv and barrier.
    Raises: ValueError for "cuda" without a GPU.
    """
    if wanted == "cuda" and gpus == 0:
        raise ValueError("--device cuda needs a GPU, and torch sees none here")
    if wanted == "cpu" or gpus == 0 or (wanted is None and n > gpus):
        return "gloo", "cpu"
    return ("nccl" if n <= gpus else "gloo"), f"cuda:{local_rank % gpus}"


class Group:
    """Opens the default group of this rank, each time over a fresh store.

    `folder` is one that all ranks share (a FileStore, which needs no port and no name service);
    without it `server`, a TCPStore that rank 0 holds, is asked.
    """

    def __init__(self, rank: int, world_size: int, folder: str | None, server: Any) -> None:
        self.rank, self.world_size = rank, world_size
        self.folder, self.server = folder, server
        self.backend: str | None = None
        self.device: str | None = None
        self._cell, self._opened, self._debug = "", 0, False
        _replace_env_rendezvous(self)

    def prepare(self, order: Record) -> None:
        """Before a cell: a default group where the order wants one, none where it says so."""
        import torch.distributed as dist

        self._cell, self._opened = order["key"], 0
        wait = timedelta(seconds=order["timeout"])
        if dist.is_initialized() and (not order["init"] or order["debug"] != self._debug):
            dist.destroy_process_group()  # so that the cell can be run again, or is checked
        self._set_debug(order["debug"])
        if not order["init"]:
            return
        if not dist.is_initialized():
            dist.init_process_group(
                OPENED_AS.get(self.backend or "", self.backend),
                store=self.store(), rank=self.rank, world_size=self.world_size, timeout=wait,
            )  # fmt: skip
        else:
            dist.distributed_c10d._set_pg_timeout(wait)

    def _set_debug(self, debug: bool) -> None:
        """Lets torch check every collective of groups made from now on, or not."""
        import torch.distributed as dist

        self._debug = debug
        os.environ["TORCH_DISTRIBUTED_DEBUG"] = "DETAIL" if debug else "OFF"
        dist.set_debug_level_from_env()

    def store(self) -> Any:
        """A store that no group has used: stale keys make a second start fail."""
        import torch.distributed as dist

        self._opened += 1
        name = f"{self._cell}-{self._opened}"
        if self.folder is not None:
            return dist.FileStore(os.path.join(self.folder, name), self.world_size)
        return dist.PrefixStore(name, self.server)


def _replace_env_rendezvous(group: Group) -> None:
    """`init_process_group()` as under torchrun, but over a fresh store each time."""
    import torch.distributed.rendezvous  # noqa: F401  (the module; the name is a function's too)

    rendezvous: Any = sys.modules["torch.distributed.rendezvous"]

    def fresh(_url: str, **_options: Any) -> Iterator[tuple[Any, int, int]]:
        yield group.store(), group.rank, group.world_size

    rendezvous._rendezvous_handlers["env"] = fresh


def new_folder() -> str:
    """Where the FileStores of one notebook's ranks are."""
    return tempfile.mkdtemp(prefix="course-ranks-")
