"""FLOPs and bytes of a piece of work, counted."""

from collections.abc import Callable
from itertools import accumulate
from typing import Any
from unittest import mock

import torch
from torch import Tensor, nn
from torch.profiler import ProfilerActivity, profile
from torch.utils.flop_counter import FlopCounterMode, flop_registry

from course_utils.memory.counting import count


def counted_flops(work: Callable[[], Any]) -> int:
    """Returns the FLOPs of the matmuls that `work()` runs: multiplications and additions.

    By torch's own counter (`torch.utils.flop_counter`), which is told of the CPU's attention,
    too.
    """
    with _attention_known(), FlopCounterMode(display=False, depth=0) as counter:
        work()
    return counter.get_total_flops()


def _attention_known() -> Any:
    """While it is entered, torch counts the FLOPs of the CPU's attention, by its rule for a GPU's.

    Two products forward and five backward, of the whole square, whether or not half of it is
    masked.
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


def kept_and_flops(block: nn.Module, x: Tensor, run: Callable[..., Tensor]) -> tuple[int, int]:
    """Returns the bytes that `run(block, x)` keeps for its backward pass, and the FLOPs of both.

    `x` and the result aren't counted among the bytes.
    """
    forward = count(block, None, x)

    def both() -> None:
        with forward:  # the count ends with the forward pass
            y = run(block, x)
        y.sum().backward()

    flops = counted_flops(both)
    held = forward.moments[-1].n_bytes
    return held["activation"] + held["temporary"] + held["input"] - x.nbytes, flops
