"""What optimizers keep between their steps."""

from collections.abc import Iterable

import torch
from torch.utils._pytree import tree_leaves


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
