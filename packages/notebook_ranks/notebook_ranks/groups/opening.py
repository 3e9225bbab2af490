"""`init_process_group` as programs call it, where a cell already has a default group.

A program opens a group in its first lines. On a rank that call takes over the group that is there,
or opens the one that it asks for, over a store of the ranks' own: no port, no address, no file.
"""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from notebook_ranks.groups import spawned, torch_inside

if TYPE_CHECKING:
    from notebook_ranks.groups.group import Group

OPTIONS = ("store", "pg_options", "device_id", "_ranks")  # what the group that is there hasn't got
Asked = dict[str, Any]


def install(group: "Group") -> Callable[..., None]:
    """From now on `init_process_group` on this rank is this package's; gives torch's own."""
    mine = os.getpid()

    def instead(own: Callable[..., None], asked: Asked) -> None:
        if os.getpid() == mine:
            _open(group, asked)
        else:
            spawned.opened(own, asked)

    return torch_inside.replace_init(instead)


def _open(group: "Group", asked: Asked) -> None:
    """The first call of a cell takes over or replaces the group; a second one is torch's to judge.

    Raises: ValueError where the cell asks for what these ranks aren't.
    """
    import torch.distributed as dist

    _check(group, asked)
    first, group.claimed = not group.claimed, True
    if dist.is_initialized() and first:
        if _is_there(group, asked):
            torch_inside.set_timeout(asked.get("timeout") or group.wait)
            return
        group.close()
    if dist.is_initialized() or asked.get("store") is not None:
        group.open(**asked)
        return
    given = {name: value for name, value in asked.items() if value is not None}
    for name in ("init_method", "rank", "world_size"):
        given.pop(name, None)
    group.open(**group.usual() | given)


def _is_there(group: "Group", asked: Asked) -> bool:
    """Whether the group that is open is what the cell asks for."""
    if any(asked.get(name) is not None for name in OPTIONS):
        return False
    return asked.get("backend") in (None, "cpu:gloo", group.backend, group.usual_backend)


def _check(group: "Group", asked: Asked) -> None:
    """Raises: ValueError for another rank, another number of ranks, or NCCL without a GPU."""
    rank, size = asked.get("rank", -1), asked.get("world_size", -1)
    if rank not in (-1, None, group.rank):
        raise ValueError(
            f"init_process_group was given rank={rank}, and this is rank {group.rank}. "
            "Leave rank= out, or pass the `rank` that every cell has."
        )
    if size not in (-1, None, group.world_size):
        raise ValueError(
            f"init_process_group was given world_size={size}, and there are {group.world_size} "
            f"ranks here. Begin the cell with %%ranks {size}, or pass `world_size`."
        )
    if "nccl" in str(asked.get("backend")).lower() and group.device == "cpu":
        raise ValueError(
            'The backend "nccl" needs a GPU for each rank, and these ranks are on the CPU. Take '
            '"gloo" here; init_process_group() without a backend takes what fits on each machine.'
        )
