"""A rank's default process group: opened by the ranks, or by a cell's `init_process_group`."""

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any

from notebook_ranks.groups import flight, notes, spawned, torch_inside
from notebook_ranks.messages import Failure, Grouping

OPENED_AS = {"nccl": "cpu:gloo,cuda:nccl"}  # CPU tensors go through gloo on every machine
OPTIONS = ("store", "pg_options", "device_id", "_ranks")  # what the group that is there hasn't got
ENDED = (
    "This was made over a group that has been closed since (after a failure, or by an "
    "init_process_group). Make it again: DDP, FSDP, new_group or the device mesh."
)
UNKNOWN = ("is not initialized in the world group map", "Group is not registered")  # torch's words
OPEN_FILES = "/proc/self/fd"  # Linux; elsewhere no connection is known, and none is cut
Asked = dict[str, Any]  # the arguments of an `init_process_group`


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
    """Opens the default group of this rank, each time under new names in `store`.

    From now on `init_process_group` on this rank is this package's. A program opens a group in its
    first lines: that takes over the group that is there, or opens the one that it asks for, without
    a port, an address or a file of its own.
    """

    def __init__(
        self, rank: int, world_size: int, store: Any, backend: str = "gloo", device: str = "cpu"
    ) -> None:
        self.rank, self.world_size, self.store = rank, world_size, store
        self.backend, self.device = backend, device
        self._wait = timedelta(days=1)
        self._claimed = False  # whether the cell called init_process_group
        self._cell, self._opened, self._debug = "", 0, False
        self._ended = False  # whether somebody may still hold a group that was closed
        self._connections, self._owner = Connections(), os.getpid()
        torch_inside.around_new_groups(self._connections.watched)
        self._init = torch_inside.replace_init(self._asked_for)

    def prepare(self, key: str, wanted: Grouping) -> None:
        """Before a cell: a default group in which all ranks are in step.

        `key` is in the names of its stores, as in no other cell's.
        """
        import torch.distributed as dist

        self._cell, self._opened, self._claimed = key, 0, False
        notes.opened = 0
        self._wait = timedelta(seconds=wanted.timeout)
        if self._ended:  # looking takes 0.3 ms
            self._connections.settle()
        if dist.is_initialized() and (wanted.anew or wanted.debug != self._debug):
            self.close()
            flight.forget()
        self._set_debug(wanted.debug)
        if dist.is_initialized():
            torch_inside.set_timeout(self._wait)
        else:
            self._open(**self._usual())

    @property
    def _usual_backend(self) -> str:
        """The backend of the default group that a cell finds, by torch's name."""
        return OPENED_AS.get(self.backend, self.backend)

    def _usual(self) -> Asked:
        """Arguments of `init_process_group` for the default group that a cell finds."""
        import torch.distributed as dist

        self._opened += 1
        with self._connections.watched():  # one of its own, so that it can be cut
            store = dist.PrefixStore(f"{self._cell}-{self._opened}", self.store.clone())
        return {
            "backend": self._usual_backend, "store": store,
            "rank": self.rank, "world_size": self.world_size, "timeout": self._wait,
        }  # fmt: skip

    def _open(self, **asked: Any) -> None:
        """Opens the default group, as torch does."""
        notes.opened += 1
        if torch_inside.default_group() is None:
            torch_inside.count_anew()
        self._init(**asked)

    def close(self) -> None:
        """Ends all groups; using one of them again is an error, on every rank."""
        import torch.distributed as dist

        self.give_up()
        if dist.is_initialized():  # an abort leaves nothing
            dist.destroy_process_group()

    def give_up(self) -> None:
        """Ends every wait for other ranks, each with an error in its own thread.

        Any thread may call it. The groups are of no use then: `prepare` must open them anew.
        """
        self._ended = True
        self._connections.cut()
        if self.backend == "nccl":
            torch_inside.abort_groups()

    def is_an_ended_one(self, failure: Failure) -> bool:
        """Whether a group failed because it was closed, and not because another rank is gone."""
        unknown = any(words in failure.message for words in UNKNOWN)
        cut = failure.kind == "group" and self._connections.whole
        return self._ended and (unknown or cut)

    def _set_debug(self, debug: bool) -> None:
        """Lets torch check every collective of groups made from now on, or not."""
        import torch.distributed as dist

        self._debug = debug
        os.environ["TORCH_DISTRIBUTED_DEBUG"] = "DETAIL" if debug else "OFF"
        dist.set_debug_level_from_env()

    def _asked_for(self, own: Callable[..., None], asked: Asked) -> None:
        """`init_process_group` as a program calls it; `own` is torch's.

        The first call of a cell takes over or replaces the group; a second one is torch's to judge.
        Raises: ValueError where the cell asks for what these ranks aren't.
        """
        import torch.distributed as dist

        if os.getpid() != self._owner:
            return spawned.opened(own, asked)
        self._check(asked)
        first, self._claimed = not self._claimed, True
        if dist.is_initialized() and first:
            if self._is_there(asked):
                return torch_inside.set_timeout(asked.get("timeout") or self._wait)
            self.close()
        if dist.is_initialized() or asked.get("store") is not None:
            return self._open(**asked)
        ours = ("init_method", "rank", "world_size")
        given = {k: v for k, v in asked.items() if v is not None and k not in ours}
        self._open(**self._usual() | given)

    def _is_there(self, asked: Asked) -> bool:
        """Whether the group that is open is what the cell asks for."""
        if any(asked.get(name) is not None for name in OPTIONS):
            return False
        return asked.get("backend") in (None, "cpu:gloo", self.backend, self._usual_backend)

    def _check(self, asked: Asked) -> None:
        """Raises: ValueError for another rank, another number of ranks, or NCCL without a GPU."""
        rank, size = asked.get("rank", -1), asked.get("world_size", -1)
        if rank not in (-1, None, self.rank):
            raise ValueError(
                f"init_process_group was given rank={rank}, and this is rank {self.rank}. "
                "Leave rank= out, or pass the `rank` that every cell has."
            )
        if size not in (-1, None, self.world_size):
            raise ValueError(
                f"init_process_group was given world_size={size}, and there are {self.world_size} "
                f"ranks here. Begin the cell with %%ranks {size}, or pass `world_size`."
            )
        if "nccl" in str(asked.get("backend")).lower() and self.device == "cpu":
            raise ValueError(
                'The backend "nccl" needs a GPU for each rank, and these ranks are on the CPU. '
                'Take "gloo" here; init_process_group() without a backend takes what fits on each '
                "machine."
            )


class Connections:
    """The connections of this rank's groups: cut where a group must not be used any more.

    Whoever waits for a message on one that is cut gets an error, at both ends and in any thread. A
    group that was destroyed lives on in whatever holds it (DDP, a mesh), and would go on sending to
    the other ranks' old groups: without its connections it fails at once.
    """

    def __init__(self) -> None:
        self._known: dict[str, int] = {}  # what the system calls each, and its descriptor

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Notes that what is opened within belongs to a group."""
        before = _sockets()
        try:
            yield
        finally:
            self._known |= {name: fd for name, fd in _sockets().items() if name not in before}

    def settle(self) -> None:
        """Forgets those that are closed."""
        self._known = {name: fd for name, fd in _sockets().items() if name in self._known}

    @property
    def whole(self) -> bool:
        """Whether none was closed since they settled: whoever they lead to is still there."""
        return set(self._known) <= set(_sockets())

    def cut(self) -> None:
        """Ends all of them, here and at the other end."""
        self.settle()
        for name, descriptor in list(self._known.items()):  # another thread may add to them
            with suppress(OSError), socket.socket(fileno=os.dup(descriptor)) as same:
                same.getpeername()  # a listener has no peer, and gloo dies of one that is cut
                if _name(same.fileno()) == name:  # the descriptor may be another's by now
                    same.shutdown(socket.SHUT_RDWR)
        self._known.clear()


def _name(descriptor: int) -> str:
    return os.readlink(f"{OPEN_FILES}/{descriptor}")


def _sockets() -> dict[str, int]:
    """The sockets of this process: the system's name for each, and its descriptor."""
    found = {}
    with suppress(FileNotFoundError):
        for descriptor in os.listdir(OPEN_FILES):
            with suppress(OSError):
                name = _name(int(descriptor))
                if name.startswith("socket:"):
                    found[name] = int(descriptor)
    return found
