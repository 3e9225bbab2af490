"""One process that adds up gradients in the order in which gloo's ring of ranks does."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol
from unittest import mock

import torch
from torch import Tensor, nn
from torch.distributed.tensor import DTensor

# ---- What units of a by-hand ZeRO hold, watched while a step runs.


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

    def watched(unit: Unit) -> None:
        gather, reduce = unit.gather, unit.reduce

        def gather_and_look() -> None:
            gather()
            look()

        def look_and_reduce() -> None:
            look()
            reduce()

        patches.append(
            mock.patch.multiple(unit, gather=gather_and_look, reduce=look_and_reduce, create=True)
        )

    patches: list[Any] = []
    for unit in units:
        watched(unit)
    for patch in patches:
        patch.start()
    try:
        step()
    finally:
        for patch in patches:
            patch.stop()
    return most


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
