"""All private parts of torch that this package uses: one place to look when torch moves on.

Seen in torch 2.13.0, the names in each docstring. 2.11.0 was read, not run: it has all of them, and
of `notes.COLLECTIVES` it lacks those with `_single`. What a newer torch no longer has,
`test_torch_inside.py` names.
"""

import functools
import inspect
import json
import pickle
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from typing import Any

# Names in torch._C._distributed_c10d, and how each is asked: pickled, it takes a third less time.
RECORDERS: dict[str, tuple[Any, dict[str, bool]]] = {
    "_dump_fr_trace": (pickle.loads, {"includeStackTraces": False}),
    "_dump_nccl_trace_json": (json.loads, {}),
}
Init = Callable[..., None]
Group = tuple[str, list[int], Any]  # its name, its ranks, torch's ProcessGroup


def _c10d() -> Any:
    import torch.distributed.distributed_c10d

    return torch.distributed.distributed_c10d


def set_timeout(wait: timedelta) -> None:
    """Sets the seconds that the default group waits in a collective from now on.

    `_set_pg_timeout`.
    """
    _c10d()._set_pg_timeout(wait)


def default_group() -> Any:
    """The default group, None where there is none."""
    return _c10d().group.WORLD


def groups() -> list[Group]:
    """The process groups of this process, the default one among them.

    `_world` with `pg_map` and `pg_names`.
    """
    world = _c10d()._world
    found = []
    for group in list(world.pg_map):
        with suppress(KeyError):  # another thread has just ended it
            found.append((str(world.pg_names[group]), members(group), group))
    return found


def members(group: Any) -> list[int]:
    """The ranks of a group in its order, as the default group numbers them; [] for one that ended.

    `_world.pg_group_ranks`.
    """
    places = _c10d()._world.pg_group_ranks.get(group, {})
    return sorted(places, key=places.get)


def classes() -> tuple[Any, Any, Any, Any]:
    """ProcessGroup, Store, Work and Future, whose methods lead to torch's C++ code.

    `torch._C._distributed_c10d` and `torch._C.Future`.
    """
    import torch
    from torch._C import _distributed_c10d as c10d

    return c10d.ProcessGroup, c10d.Store, c10d.Work, torch._C.Future


def recorders() -> Iterator[list[dict[str, Any]]]:
    """The entries of each of torch's flight recorders; a torch without CUDA has none for NCCL.

    `_dump_fr_trace` and `_dump_nccl_trace_json` of `torch._C._distributed_c10d`.
    """
    from torch._C import _distributed_c10d as c10d

    for name, (read, options) in RECORDERS.items():
        if hasattr(c10d, name):
            yield read(getattr(c10d, name)(**options)).get("entries", [])


def patience_of(group: Any) -> float:
    """After how many seconds a gloo group gives up a message; 0 where it isn't known.

    `_get_backend` and `options._timeout`.
    """
    import torch

    with suppress(Exception):  # a group without gloo, or with a wrapper around it
        return float(group._get_backend(torch.device("cpu")).options._timeout.total_seconds())
    return 0


def groups_made() -> int:
    """The number of groups so far that have a number as their name.

    `_world.group_count`.
    """
    return _c10d()._world.group_count


def count_anew() -> None:
    """Lets the next group have the first number as its name, as on a rank that made none so far.

    `_world.group_count`, which an `init_process_group` that fails leaves raised.
    """
    _c10d()._world.group_count = 0


def calls_of(group: Any) -> int | None:
    """Counts the collectives and messages that a group has begun on this rank; None if unknown.

    `_get_sequence_number_for_group`; gloo counts each collective, each part of a
    coalesced one and each message.
    """
    try:
        return group._get_sequence_number_for_group()
    except RuntimeError:
        return None


def abort_groups() -> None:
    """Ends what runs on GPUs in all groups, so that they can be destroyed.

    `_abort_process_group`, for NCCL alone.
    """
    if default_group() is not None:
        _c10d()._abort_process_group()


def forget_groups() -> None:
    """For a forked child: the groups of its parent aren't its own, and must not be destroyed here.

    The maps of `_world`, and `_unregister_all_process_groups`.
    """
    c10d = _c10d()
    world = c10d._world
    for name in ("pg_map", "pg_names", "pg_group_ranks", "pg_backend_config", "pg_to_tag"):
        held = getattr(world, name)
        _parents.append(dict(held))  # so that nothing of them is ended here
        held.clear()
    world.tags_to_pg.clear()
    world.default_pg, world.group_count = None, 0
    c10d._unregister_all_process_groups()


_parents: list[dict[Any, Any]] = []


def around_new_groups(around: Callable[[], Any]) -> None:
    """Has every process group made under the context manager that `around()` gives.

    `_new_process_group_helper`.
    """
    c10d = _c10d()
    make = c10d._new_process_group_helper

    def made(*args: Any, **kwargs: Any) -> Any:
        with around():
            return make(*args, **kwargs)

    c10d._new_process_group_helper = made


def replace_init(instead: Callable[[Init, dict[str, Any]], None]) -> Init:
    """Puts a function in the place of `init_process_group`, under both names; gives torch's own.

    `instead` is given torch's own, and by name what it is called with. Nothing here is private, but
    for torch's calling it under the second name.
    """
    import torch.distributed as dist

    own = dist.init_process_group
    signature = inspect.signature(own)

    @functools.wraps(own)
    def init_process_group(*args: Any, **kwargs: Any) -> None:
        instead(own, dict(signature.bind(*args, **kwargs).arguments))

    dist.init_process_group = init_process_group
    dist.distributed_c10d.init_process_group = init_process_group
    return own
