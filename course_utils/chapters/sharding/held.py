"""What units of a by-hand ZeRO hold, watched while a step runs."""

from collections.abc import Callable, Iterable
from typing import Any, Protocol
from unittest import mock

from torch import Tensor, nn
from torch.distributed.tensor import DTensor


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
