"""A sharded run watched: what its ranks send and hold; its gradients added up by one process."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from typing import Any, Protocol
from unittest import mock

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.tensor import DTensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


def collectives() -> tuple[Callable[..., Any], Callable[..., Any]]:
    """`all_gather(whole, shard)` and `reduce_scatter(shard, whole)`, both of torch.distributed.

    torch 2.13 calls them all_gather_single and reduce_scatter_single; all_gather_into_tensor and
    reduce_scatter_tensor, their names until then, warn there.
    """
    if hasattr(dist, "all_gather_single"):
        return dist.all_gather_single, dist.reduce_scatter_single
    return dist.all_gather_into_tensor, dist.reduce_scatter_tensor


# ---- What ranks send, counted where torch dispatches their collectives: FSDP's and yours.

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


# ---- What ranks hold: of units of a by-hand ZeRO, of FSDP's model, of any states.


class Unit(Protocol):
    """What the page calls a unit: parameters, the flat tensor that they are views of, a shard."""

    parameters: list[nn.Parameter]
    whole: Tensor
    shard: nn.Parameter

    def gather(self) -> object: ...

    def reduce(self) -> object: ...


def most_held(units: Iterable[Unit], step: Callable[[], Any]) -> dict[str, int]:
    """Runs `step()`: the most bytes of whole weights and of whole gradients that lay there at once.

    They are looked at where they change: after each `gather`, before each `reduce`.
    """
    units, most = list(units), {"weights": 0, "gradients": 0}

    def look() -> None:
        gradients = (p.grad for unit in units for p in unit.parameters)
        now = {
            "weights": sum(unit.whole.untyped_storage().nbytes() for unit in units),
            "gradients": sum(grad.nbytes for grad in gradients if grad is not None),
        }
        for part, n_bytes in now.items():
            most[part] = max(most[part], n_bytes)

    with ExitStack() as stack:
        for unit in units:
            gather, reduce = _one_by_one(unit.gather, look), _one_by_one(look, unit.reduce)
            stack.enter_context(mock.patch.multiple(unit, gather=gather, reduce=reduce))
        step()
    return most


def _one_by_one(*functions: Callable[[], object]) -> Callable[[], None]:
    def call_each() -> None:
        for function in functions:
            function()

    return call_each


def most_whole(model: nn.Module, step: Callable[[], Any]) -> int:
    """Runs `step()`: the most bytes of parameters that FSDP had gathered in `model` at once.

    It looks where a layer's forward or backward begins, and counts the parameters that are plain
    tensors there, not shards. What a prefetch has only on its way isn't among them.
    """
    most = 0

    def look(*_: Any) -> None:
        nonlocal most
        whole = (p for p in model.parameters() if not isinstance(p, DTensor))
        most = max(most, sum(p.nbytes for p in whole))

    layers = [layer for layer in model.modules() if not list(layer.children())]
    hooks = [layer.register_forward_pre_hook(look) for layer in layers]
    hooks += [layer.register_forward_hook(_when_backward_comes(look)) for layer in layers]
    try:
        step()
    finally:
        for hook in hooks:
            hook.remove()
    return most


def _when_backward_comes(look: Callable[[], None]) -> Callable[[Any, Any, Tensor], None]:
    def after(_module: Any, _inputs: Any, output: Tensor) -> None:
        output.register_hook(lambda _: look())

    return after


def all_numbers(states: Any) -> Tensor:
    """Every number of the floating-point tensors in `states`, flat, in their order.

    DTensors are gathered for it, so every rank must call it. Step counts are left out.
    """
    whole = (t.full_tensor() if isinstance(t, DTensor) else t for t in tree_leaves(states))
    kept = [t for t in whole if torch.is_tensor(t) and t.is_floating_point() and t.dim()]
    return torch.cat([t.detach().flatten() for t in kept])


# ---- One process that adds up gradients in the order in which gloo's ring of ranks does.


class HasBlocks(Protocol):
    """A model whose `blocks` are units of their own."""

    blocks: nn.ModuleList

    def named_parameters(self) -> Any: ...


def gathered(units: Sequence[Unit]) -> Tensor:
    """All weights of the units in one flat tensor, gathered for it: blocks first, the rest last."""
    for unit in units:
        unit.gather()
    return torch.cat([p.detach().flatten() for unit in units for p in unit.parameters])


def units_of(model: HasBlocks) -> list[list[nn.Parameter]]:
    """The parameters of each block, then those of no block: the page's units."""
    rest = [p for name, p in model.named_parameters() if not name.startswith("blocks.")]
    return [*(list(block.parameters()) for block in model.blocks), rest]


def add_as_ring(model: HasBlocks, by_rank: Sequence[dict[nn.Parameter, Tensor]]) -> None:
    """Sets each parameter's `.grad` to the sum of `by_rank`, shard by shard as gloo's ring adds.

    `by_rank` has the gradients of n ranks by parameter. Each unit is flat and padded as on the
    page, and cut into n shards. Rank r's shard starts as the gradient of rank r − 1, to which those
    of r − 2, r − 3 … and at last its own are added. (Observed, not documented: a test holds it
    against real ranks.)
    """
    n = len(by_rank)
    for unit in units_of(model):
        flat = [torch.cat([gradients[p].flatten() for p in unit]) for gradients in by_rank]
        length = flat[0].numel()
        padded = [nn.functional.pad(one, (0, -length % n)).chunk(n) for one in flat]
        shards = []
        for owner in range(n):
            total = padded[(owner - 1) % n][owner].clone()
            for back in range(2, n + 1):
                total += padded[(owner - back) % n][owner]
            shards.append(total)
        whole = torch.cat(shards)[:length].split([p.numel() for p in unit])
        for p, gradient in zip(unit, whole, strict=True):
            p.grad = gradient.view_as(p).clone()
