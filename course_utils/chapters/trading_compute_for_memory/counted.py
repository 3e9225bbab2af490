"""The FLOPs of a piece of work, counted: the same on every machine."""

from collections.abc import Callable
from typing import Any
from unittest import mock

import torch
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
