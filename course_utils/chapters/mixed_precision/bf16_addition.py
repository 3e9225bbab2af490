"""How much faster two tensors are added in BF16 than in FP32."""

from functools import partial

import torch

from course_utils.core.machine import device
from course_utils.core.measurement import Measurement
from course_utils.core.timing import measure_rounds, seconds, synchronize

DTYPES = {"FP32": torch.float32, "BF16": torch.bfloat16}


def addition_gain(count: int, calls: int) -> float:
    """FP32's seconds over BF16's, of additions of two tensors of `count` numbers.

    Both are timed in the same rounds, `calls` additions at a time, where the course's work runs.
    The ratio knows how busy other programs were meanwhile.
    """
    tensors = {
        name: torch.ones(2, count, dtype=dtype, device=device()) for name, dtype in DTYPES.items()
    }

    def add(name: str) -> None:
        a, out = tensors[name]
        for _ in range(calls):
            torch.add(a, a, out=out)
        synchronize()

    def one_round() -> dict[str, float]:
        return {name: seconds(partial(add, name)) for name in tensors}

    took: dict[str, Measurement] = measure_rounds(one_round)
    return took["FP32"] / took["BF16"]
