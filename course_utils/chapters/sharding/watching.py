"""Watches a sharded run: what its ranks send and hold."""

from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.fsdp import FSDPModule
from torch.distributed.tensor import DTensor
from torch.utils._python_dispatch import TorchDispatchMode

# ---- What ranks send, counted where torch dispatches their collectives: FSDP's and yours.

GATHERS = ("_allgather_base_", "all_gather_into_tensor", "all_gather_into_tensor_out")
SCATTERS = ("_reduce_scatter_base_", "reduce_scatter_tensor")
REDUCES = ("allreduce_", "all_reduce", "all_reduce_", "reduce_")
SPACES = ("c10d", "_c10d_functional")


class Traffic(TorchDispatchMode):
    """While it is on, `messages` counts a rank's collectives by kind, `sent` the bytes it sends.

    The bytes are those of a ring (chapter 11): an all_gather or a reduce_scatter over n ranks of a
    tensor that has S bytes when whole sends (n−1)/n·S from each rank, an all_reduce twice that,
    and a reduce to one rank the same on average; n is the size of the collective's group. What
    DDP's own reducer sends isn't dispatched, and isn't counted.
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
        if name in GATHERS:
            whole, part = (result, args[0]) if torch.is_tensor(result) else args[:2]
            self._add("all_gather", whole.nbytes - part.nbytes)
        elif name in SCATTERS:
            part, whole = (result, args[0]) if torch.is_tensor(result) else args[:2]
            self._add("reduce_scatter", whole.nbytes - part.nbytes)
        elif name in REDUCES:
            functional = torch.is_tensor(args[0])
            whole = args[0] if functional else args[0][0]
            n = _size_of(args[2] if functional else args[1])
            kind, halves = ("reduce", 1) if name == "reduce_" else ("all_reduce", 2)
            self._add(kind, halves * (n - 1) * whole.nbytes // n)

    def _add(self, kind: str, n_bytes: int) -> None:
        self.messages[kind] += 1
        self.sent[kind] += n_bytes


def _size_of(group: Any) -> int:
    """Returns how many ranks a group has, given as a name, as an object, or as torch boxes it."""
    if isinstance(group, str):
        by_name: Any = dist.distributed_c10d._resolve_process_group
        group = by_name(group)
    elif not isinstance(group, dist.ProcessGroup):
        group = dist.ProcessGroup.unbox(group)
    n: int = group.size()
    return n


# ---- What ranks hold of FSDP's model, and of any states.


def most_whole(model: nn.Module, step: Callable[[], Any]) -> int:
    """Runs `step()`; returns the most bytes of parameters that FSDP held gathered at once.

    It looks where a layer's forward or backward begins, and counts the parameters that are plain
    tensors there, not shards. A gather that a prefetch has begun isn't counted.
    """
    most = 0

    def look(*_: Any) -> None:
        nonlocal most
        whole = (p for p in model.parameters() if not isinstance(p, DTensor))
        most = max(most, sum(p.nbytes for p in whole))

    def look_in_backward(_layer: Any, _inputs: Any, output: Tensor) -> None:
        output.register_hook(look)

    with ExitStack() as hooks:
        for layer in model.modules():
            if not list(layer.children()):
                hooks.enter_context(layer.register_forward_pre_hook(look))
                hooks.enter_context(layer.register_forward_hook(look_in_backward))
        step()
    return most


def gradient_bytes(model: nn.Module) -> int:
    """Bytes of gradients that a rank holds for an FSDP model between two backward passes.

    Those are shards, or, where the reduction was put off, whole gradients in the format of the
    parameters. To see whole ones it gathers all weights for a moment, so every rank must call it.
    """
    units = [module for module in model.modules() if isinstance(module, FSDPModule)]
    n_bytes = 0
    for change in ("reshard", "unshard"):
        for unit in units:
            getattr(unit, change)()
        grads = [p.grad for p in model.parameters() if p.grad is not None]
        n_bytes += sum((g.to_local() if isinstance(g, DTensor) else g).nbytes for g in grads)
    for unit in units:
        unit.reshard()
    return n_bytes
