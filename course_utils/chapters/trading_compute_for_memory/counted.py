"""FLOPs of a piece of work and bytes of optimizers' states, counted: the same on every machine."""

from collections.abc import Callable, Iterable
from typing import Any
from unittest import mock

import torch
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import FlopCounterMode, flop_registry

Shape = tuple[int, ...]


def counted_flops(work: Callable[[], Any]) -> int:
    """The FLOPs of the products that `work()` runs, a multiplication and an addition each.

    By torch's own counter (`torch.utils.flop_counter`), which is told of the processor's
    attention, too.
    """
    with attention_known(), FlopCounterMode(display=False, depth=0) as counter:
        work()
    return counter.get_total_flops()


def attention_known() -> Any:
    """While it is entered, torch knows the FLOPs of the processor's attention, as of a GPU's.

    Two products forward and five backward, of the whole square, whether or not half of it is
    masked. The compiler's estimates read the same table, and took this operator for free.
    """
    aten = torch.ops.aten
    return mock.patch.dict(
        flop_registry,
        {
            aten._scaled_dot_product_flash_attention_for_cpu: _attention,
            aten._scaled_dot_product_flash_attention_for_cpu_backward: _attention_backward,
        },
    )


def _attention(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, *_: Any, **__: Any
) -> int:
    batch, heads, length, width = query.shape
    return 2 * batch * heads * length * key.shape[2] * (width + value.shape[3])


def _attention_backward(
    _: torch.Tensor, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor,
    *__: Any, **___: Any,
) -> int:  # fmt: skip
    batch, heads, length, width = query.shape
    return 2 * batch * heads * length * key.shape[2] * (3 * width + 2 * value.shape[3])


def state_bytes(model: torch.nn.Module, optimizers: Iterable[torch.optim.Optimizer]) -> float:
    """Bytes of all tensors in the optimizers' states, for each number of the model's weights."""
    tensors = [
        leaf
        for one in optimizers
        for leaf in tree_leaves(list(one.state.values()))
        if isinstance(leaf, torch.Tensor)
    ]
    weights = sum(parameter.numel() for parameter in model.parameters())
    return sum(tensor.nbytes for tensor in tensors) / weights
