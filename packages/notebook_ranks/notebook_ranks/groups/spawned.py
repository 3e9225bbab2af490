"""Processes that a cell starts (mp.spawn, mp.Process, a DataLoader's workers).

A spawned process knows nothing of the cell: its functions and classes are sent by their code, and
those that were started together meet in the ranks' store, whatever port their program names: two
ranks that run it side by side would take one port both.
"""

import multiprocessing
import multiprocessing.connection
import multiprocessing.queues
import os
import pickle
import types
from collections.abc import Callable
from multiprocessing import reduction
from typing import Any

from notebook_ranks.groups import torch_inside

Meeting = tuple[str, int, str] | None  # host and port of the ranks' store, and a prefix in it
TALKERS = (  # modules that send to running processes, with the names of their picklers
    (multiprocessing.connection, "_ForkingPickler"),
    (multiprocessing.queues, "_ForkingPickler"),
)


class _Here:
    """The processes that this one starts, and the one that started it."""

    store: Any = None
    meeting: Meeting = None
    known = False
    starts = opened = 0


_usual = reduction.ForkingPickler


class _Pickler(reduction.ForkingPickler):
    """Sends what a cell defines by its code, all else as ever."""

    _meeting: Meeting = None

    def reducer_override(self, value: Any) -> Any:
        if not isinstance(value, types.FunctionType | type) or value.__module__ != "__main__":
            return NotImplemented
        import cloudpickle

        self._meeting = self._meeting or meeting()
        return _load, (cloudpickle.dumps(value), self._meeting)


def install(store: Any) -> None:
    """In a rank: what it starts from now on finds what its cells define, and meets in `store`."""
    _Here.store, _Here.known = store, True
    _send_by_code()
    os.register_at_fork(before=_before_fork)


def _send_by_code() -> None:
    reduction.ForkingPickler = _Pickler  # type: ignore[misc]
    _talk_by(_Pickler)


def _talk_by(pickler: type[reduction.ForkingPickler]) -> None:
    """How queues and pipes send from now on."""
    import torch.multiprocessing.queue

    for module, name in (*TALKERS, (torch.multiprocessing.queue, "ForkingPickler")):
        setattr(module, name, pickler)


def _before_fork() -> None:
    _Here.meeting = meeting()


def meeting() -> Meeting:
    """The meeting point of processes started now: one until all that were started have ended."""
    if _Here.store is None:
        return _Here.meeting
    if not multiprocessing.active_children():
        _Here.starts += 1
    return _Here.store.host, _Here.store.port, f"started-{os.getpid()}-{_Here.starts}"


def _load(content: bytes, where: Meeting) -> Any:
    """In the other process: what was sent; the first of it says where to meet."""
    if not _Here.known:
        _Here.known, _Here.meeting = True, where
        _send_by_code()
        torch_inside.replace_init(opened)
    return pickle.loads(content)


def opened(own: Callable[..., None], asked: dict[str, Any]) -> None:
    """`init_process_group` in a process that a rank started; `own` is torch's.

    Its rank and number are those it is given, or those of its environment.
    """
    rank, size = (
        asked.get(name) if asked.get(name, -1) not in (-1, None) else os.environ.get(name.upper())
        for name in ("rank", "world_size")
    )
    if _Here.meeting is None or asked.get("store") is not None or rank is None or size is None:
        own(**asked)
        return
    import torch.distributed as dist

    _Here.opened += 1
    host, port, prefix = _Here.meeting
    server = dist.TCPStore(host, port, is_master=False)
    store = dist.PrefixStore(f"{prefix}-{_Here.opened}", server)
    given = {name: value for name, value in asked.items() if name != "init_method"}
    own(**given | {"store": store, "rank": int(rank), "world_size": int(size)})


def in_fork() -> None:
    """In a process that a rank forked: it has no group yet, and starts none by its parent's."""
    torch_inside.forget_groups()
    _talk_by(_usual)  # to its parent, who has the same functions and classes
    _Here.store, _Here.opened = None, 0


def begun() -> set[Any]:
    """The processes that were started by multiprocessing and still run."""
    return set(multiprocessing.active_children())


def end(children: set[Any]) -> None:
    """Kills those of the children that still run."""
    for child in children & begun():
        child.kill()
        child.join()
