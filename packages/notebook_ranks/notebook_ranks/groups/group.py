"""A rank's process group: which backend, and over which store."""

import os
import tempfile
from contextlib import suppress
from datetime import timedelta
from typing import Any

from notebook_ranks.groups import flight, notes, opening, torch_inside
from notebook_ranks.groups.connections import Connections
from notebook_ranks.messages import Failure, Grouping

OPENED_AS = {"nccl": "cpu:gloo,cuda:nccl"}  # CPU tensors go through gloo on every machine
LOST = (
    "The folder of the ranks' store was deleted: the group was opened anew. Make again what was "
    "made over the old one (DDP, FSDP, new_group, a device mesh)."
)
ENDED = (
    "This was made over a group that has been closed since (after a failure, or by an "
    "init_process_group). Make it again: DDP, FSDP, new_group or the device mesh."
)
UNKNOWN = ("is not initialized in the world group map", "Group is not registered")  # torch's words


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
        self.claimed = False  # whether the cell called init_process_group
        self.wait = timedelta(days=1)
        self._cell, self._opened, self._debug, self._file = "", 0, False, ""
        self._default: Any = None  # what was opened last
        self._ended = False  # whether somebody may still hold a group that was closed
        self.connections = Connections()
        torch_inside.around_new_groups(self.connections.watched)
        self.init = opening.install(self)

    def prepare(self, key: str, wanted: Grouping) -> None:
        """Before a cell: a default group in which all ranks are in step.

        `key` names its store, as no other cell's is named.
        """
        import torch.distributed as dist

        self._cell, self._opened, self.claimed = key, 0, False
        notes.opened = 0
        self.wait = timedelta(seconds=wanted.timeout)
        if self._ended:  # looking takes 0.3 ms
            self.connections.settle()
        lost = not wanted.anew and self._is_lost()
        if dist.is_initialized() and (lost or wanted.anew or wanted.debug != self._debug):
            self.close()
            flight.forget()
        self._set_debug(wanted.debug)
        if dist.is_initialized():
            torch_inside.set_timeout(self.wait)
        else:
            self.open(**self.usual())
        if lost and self.rank == 0:
            print(LOST)

    @property
    def usual_backend(self) -> str | None:
        """The backend of the default group that a cell finds, as torch is told it."""
        return OPENED_AS.get(self.backend or "", self.backend)

    def usual(self) -> dict[str, Any]:
        """What `init_process_group` is told for the default group that a cell finds."""
        return {
            "backend": self.usual_backend, "store": self.store(),
            "rank": self.rank, "world_size": self.world_size, "timeout": self.wait,
        }  # fmt: skip

    def open(self, **asked: Any) -> None:
        """Opens the default group, as torch does."""
        notes.opened += 1
        if torch_inside.default_group() is None:
            torch_inside.count_anew()
        self.init(**asked)
        self._default = torch_inside.default_group()

    def _is_lost(self) -> bool:
        """Whether the file is gone over which the ranks of the open group meet for new ones."""
        mine = self._default is not None and self._default is torch_inside.default_group()
        return mine and bool(self._file) and not os.path.exists(self._file)

    def close(self) -> None:
        """Ends all groups; who uses one of them again gets an error, on every rank."""
        import torch.distributed as dist

        if self.backend == "nccl":
            torch_inside.abort_groups()
        self.connections.cut()
        if dist.is_initialized():  # an abort leaves nothing
            dist.destroy_process_group()
        self._ended = True

    def give_up(self) -> None:
        """Ends every wait for other ranks, each with an error in its own thread.

        Any thread may call it. The groups are of no use then: `prepare` must open them anew.
        """
        self._ended = True
        self.connections.cut()
        if self._file:
            _spoil(self._file)
        if self.backend == "nccl":
            torch_inside.abort_groups()

    def is_an_ended_one(self, failure: Failure) -> bool:
        """Whether a group failed because it was closed, and not because another rank is gone."""
        unknown = any(words in failure.message for words in UNKNOWN)
        cut = failure.kind == "group" and self.connections.whole
        return self._ended and (unknown or cut)

    def _set_debug(self, debug: bool) -> None:
        """Lets torch check every collective of groups made from now on, or not."""
        import torch.distributed as dist

        self._debug = debug
        os.environ["TORCH_DISTRIBUTED_DEBUG"] = "DETAIL" if debug else "OFF"
        dist.set_debug_level_from_env()

    def store(self) -> Any:
        """A store that no group has used: stale keys make a second start fail."""
        import torch.distributed as dist

        self._opened, self._file = self._opened + 1, ""
        name = f"{self._cell}-{self._opened}"
        if self.folder is None:
            with self.connections.watched():  # one of its own, so that it can be cut
                return dist.PrefixStore(name, self.server.clone())
        os.makedirs(self.folder, exist_ok=True)  # somebody may have tidied up
        self._file = os.path.join(self.folder, name)
        return dist.FileStore(self._file, self.world_size)


def _spoil(file: str) -> None:
    """Lets a FileStore's file lead nowhere: who waits for a key in it gets an error."""
    circle = f"{file}.{os.getpid()}"
    with suppress(OSError):
        os.symlink(file, circle)
        os.replace(circle, file)


def new_folder() -> str:
    """Where the FileStores of one notebook's ranks are."""
    return tempfile.mkdtemp(prefix="course-ranks-")
