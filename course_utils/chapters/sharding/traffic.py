"""What ranks hand to their collectives, counted where torch dispatches them: FSDP's and yours."""

from collections import Counter
from typing import Any

import torch
import torch.distributed as dist
from torch.utils._python_dispatch import TorchDispatchMode

GATHERS = ("_allgather_base_", "all_gather_into_tensor", "all_gather_into_tensor_out")
SCATTERS = ("_reduce_scatter_base_", "reduce_scatter_tensor")
REDUCES = ("allreduce_", "all_reduce", "all_reduce_")
SPACES = ("c10d", "_c10d_functional")


class Traffic(TorchDispatchMode):
    """While it is on, `messages` counts a rank's collectives by kind, `sent` the bytes it sends.

    The bytes are those of a ring (chapter 11): an all_gather or a reduce_scatter over n ranks of a
    tensor that has S bytes when whole sends (n−1)/n·S from each rank, an all_reduce twice that. An
    all_reduce is taken to be among all ranks. What DDP's own reducer sends isn't dispatched, and
    isn't counted.
    """

    def __init__(self) -> None:
        super().__init__()
        self.messages = Counter[str]()
        self.sent = Counter[str]()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        if func.namespace in SPACES:
            self._count(func.overloadpacket.__name__, args, result)
        return result

    def _count(self, name: str, args: tuple[Any, ...], result: Any) -> None:
        n = dist.get_world_size()
        if name in GATHERS:
            whole, part = (result, args[0]) if torch.is_tensor(result) else args[:2]
            self._add("all_gather", whole.nbytes - part.nbytes)
        elif name in SCATTERS:
            part, whole = (result, args[0]) if torch.is_tensor(result) else args[:2]
            self._add("reduce_scatter", whole.nbytes - part.nbytes)
        elif name in REDUCES:
            whole = args[0] if torch.is_tensor(args[0]) else args[0][0]
            self._add("all_reduce", 2 * (n - 1) * whole.nbytes // n)

    def _add(self, kind: str, n_bytes: int) -> None:
        self.messages[kind] += 1
        self.sent[kind] += n_bytes
