"""FLOPs and bytes of a piece of work and of optimizers' states, counted."""

from collections.abc import Callable, Iterable
from itertools import accumulate
from typing import Any
from unittest import mock

import torch
from torch.profiler import ProfilerActivity, profile
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import FlopCounterMode, flop_registry

Shape = tuple[int, ...]


def counted_flops(work: Callable[[], Any]) -> int:
    """Returns the FLOPs of the matmuls that `work()` runs: multiplications and additions.

    By torch's own counter (`torch.utils.flop_counter`), which is told of the CPU's attention,
    too.
    """
    with attention_known(), FlopCounterMode(display=False, depth=0) as counter:
        work()
    return counter.get_total_flops()


def attention_known() -> Any:
    """While it is entered, torch counts the FLOPs of the CPU's attention, by its rule for a GPU's.

    Two products forward and five backward, of the whole square, whether or not half of it is
    masked. The compiler's estimates read the same table, and took this operator for free.
    """
    aten, on_gpu = torch.ops.aten, "_scaled_dot_product_flash_attention"
    pairs = {f"{on_gpu}_for_cpu": on_gpu, f"{on_gpu}_for_cpu_backward": f"{on_gpu}_backward"}
    known = {getattr(aten, cpu): flop_registry[getattr(aten, gpu)] for cpu, gpu in pairs.items()}
    return mock.patch.dict(flop_registry, known)


def allocated_peak(work: Callable[[], Any]) -> int:
    """Returns the most bytes that `work()` had allocated on the CPU beside what was there before.

    By torch's profiler, which sees what an operator allocates inside, as `memory.count` doesn't.
    """
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as found:
        work()
    events = found.profiler.kineto_results.events()
    changes = [event for event in events if event.name() == "[memory]"]
    changes.sort(key=lambda event: event.start_ns())
    return max(accumulate((event.nbytes() for event in changes), initial=0))


def state_bytes(model: torch.nn.Module, optimizers: Iterable[torch.optim.Optimizer]) -> float:
    """Returns the bytes of the optimizers' states, for each of the model's parameters."""
    tensors = [
        leaf
        for one in optimizers
        for leaf in tree_leaves(list(one.state.values()))
        if isinstance(leaf, torch.Tensor)
    ]
    weights = sum(parameter.numel() for parameter in model.parameters())
    return sum(tensor.nbytes for tensor in tensors) / weights
