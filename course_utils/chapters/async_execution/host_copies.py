"""Tensors that would live on the host on any machine: reading them never waits."""

from typing import Any

import torch
from torch.utils._pytree import tree_leaves, tree_map_only
from torch.utils.weak import WeakTensorKeyDictionary

AWAY = ("to", "cuda")


class HostCopies:
    """What copies to the host gave, and what was made of those alone.

    On a machine without a GPU a copy to the host is the tensor itself. So each is kept as a view of
    its own: the original is still one that would live on a GPU.
    """

    def __init__(self) -> None:
        self._kept = WeakTensorKeyDictionary()

    def are_all(self, args: tuple[Any, ...]) -> bool:
        """Whether a call with these arguments works on such copies alone."""
        tensors = [x for x in tree_leaves(args) if isinstance(x, torch.Tensor)]
        return bool(tensors) and all(x in self._kept for x in tensors)

    def after(self, name: str, result: Any, to_host: bool) -> Any:
        """The result of function `name`, kept as a copy unless it goes back to a device."""
        keep = to_host or name not in AWAY

        def view(x: torch.Tensor) -> torch.Tensor:
            mine = x.view_as(x)
            if keep:
                self._kept[mine] = True
            return mine

        return tree_map_only(torch.Tensor, view, result)
