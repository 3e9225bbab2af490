"""What the compiler keeps under a memory budget, and what its graphs compute."""

from collections.abc import Callable
from typing import Any

import torch
import torch._functorch.config as settings
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.aot_autograd import make_boxed_func
from torch._functorch.partitioners import min_cut_rematerialization_partition

from course_utils.chapters.trading_compute_for_memory.counted import attention_known, counted_flops


def with_budget(module: torch.nn.Module, x: torch.Tensor, budget: float) -> tuple[int, int]:
    """Returns the bytes that the compiled `module(x)` keeps, and the FLOPs of its forward and
    backward graphs.

    `budget` is torch's `activation_memory_budget`: 1 keeps what the compiler would keep anyway, 0
    only the input, and in between it may keep that share. Its graphs are divided as inductor has
    them divided, and run operator by operator.
    """
    flops: list[int] = []

    def keep_count(graph: Any, example: Any) -> Callable[..., Any]:
        flops.append(counted_flops(lambda: graph(*example)))
        return make_boxed_func(graph.forward)

    backend = aot_autograd(
        fw_compiler=keep_count, bw_compiler=keep_count,
        partition_fn=min_cut_rematerialization_partition,
    )  # fmt: skip
    torch.compiler.reset()
    with attention_known(), settings.patch(activation_memory_budget=budget):
        result = torch.compile(module, backend=backend)(x)
        kept = _saved_bytes(result, module)
        result.sum().backward()
    return kept, sum(flops)


def _saved_bytes(result: torch.Tensor, module: torch.nn.Module) -> int:
    """Bytes that a compiled graph saved besides parameters; a dispatch mode sees none of them."""
    own = {parameter.untyped_storage().data_ptr() for parameter in module.parameters()}
    found: dict[int, int] = {}
    nodes = [result.grad_fn]
    while nodes:
        node = nodes.pop()
        if node is not None:
            nodes += [following for following, _ in node.next_functions]
            storages = [t.untyped_storage() for t in getattr(node, "saved_tensors", ())]
            found |= {one.data_ptr(): one.nbytes() for one in storages}
    return sum(size for place, size in found.items() if place not in own)
