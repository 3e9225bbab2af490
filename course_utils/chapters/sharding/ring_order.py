"""One process that adds up gradients in the order in which gloo's ring of ranks does."""

from collections.abc import Sequence
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from course_utils.chapters.sharding.held import Unit


class HasBlocks(Protocol):
    """A model whose `blocks` are units of their own."""

    blocks: nn.ModuleList

    def named_parameters(self) -> Any: ...


def gathered(units: Sequence[Unit]) -> Tensor:
    """All weights of the units in one flat tensor, gathered for it: blocks first, the rest last."""
    for unit in units:
        unit.gather()
    return torch.cat([p.detach().flatten() for unit in units for p in unit.parameters])


def units_of(model: HasBlocks) -> list[list[nn.Parameter]]:
    """The parameters of each block, then those of no block: the page's units."""
    rest = [p for name, p in model.named_parameters() if not name.startswith("blocks.")]
    return [*(list(block.parameters()) for block in model.blocks), rest]


def add_as_ring(model: HasBlocks, by_rank: Sequence[dict[nn.Parameter, Tensor]]) -> None:
    """Sets each parameter's `.grad` to the sum of `by_rank`, shard by shard as gloo's ring adds.

    `by_rank` has the gradients of n ranks by parameter. Each unit is flat and padded as on the
    page, and cut into n shards. Rank r's shard starts as the gradient of rank r − 1, to which those
    of r − 2, r − 3 … and at last its own are added. (Observed, not documented: a test holds it
    against real ranks.)
    """
    n = len(by_rank)
    for unit in units_of(model):
        flat = [torch.cat([gradients[p].flatten() for p in unit]) for gradients in by_rank]
        length = flat[0].numel()
        padded = [nn.functional.pad(one, (0, -length % n)).chunk(n) for one in flat]
        shards = []
        for owner in range(n):
            total = padded[(owner - 1) % n][owner].clone()
            for back in range(2, n + 1):
                total += padded[(owner - back) % n][owner]
            shards.append(total)
        whole = torch.cat(shards)[:length].split([p.numel() for p in unit])
        for p, gradient in zip(unit, whole, strict=True):
            p.grad = gradient.view_as(p).clone()
