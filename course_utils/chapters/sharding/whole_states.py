"""What a sharded run holds, as one flat tensor."""

from typing import Any

import torch
from torch import Tensor
from torch.distributed.tensor import DTensor
from torch.utils._pytree import tree_leaves


def all_numbers(states: Any) -> Tensor:
    """Every number of the floating-point tensors in `states`, flat, in their order.

    DTensors are gathered for it, so every rank must call it. Step counts are left out.
    """
    whole = (t.full_tensor() if isinstance(t, DTensor) else t for t in tree_leaves(states))
    kept = [t for t in whole if torch.is_tensor(t) and t.is_floating_point() and t.dim()]
    return torch.cat([t.detach().flatten() for t in kept])
