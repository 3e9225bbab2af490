"""The two collectives of a flat tensor, by the names that the installed torch wants."""

from collections.abc import Callable
from typing import Any

import torch.distributed as dist


def collectives() -> tuple[Callable[..., Any], Callable[..., Any]]:
    """`all_gather(whole, shard)` and `reduce_scatter(shard, whole)`, both of torch.distributed.

    torch 2.13 calls them all_gather_single and reduce_scatter_single; all_gather_into_tensor and
    reduce_scatter_tensor, their names until then, warn there.
    """
    if hasattr(dist, "all_gather_single"):
        return dist.all_gather_single, dist.reduce_scatter_single
    return dist.all_gather_into_tensor, dist.reduce_scatter_tensor
