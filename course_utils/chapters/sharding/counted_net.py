"""Collectives of ranks that threads play: their calls and bytes are counted, as a ring sends them.

An exercise's answer runs on every such rank, and its checker asks who sent how much.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from course_utils.chapters.collectives.simulated_ranks import Deadlock, SimulatedNet, simulate
from course_utils.lesson.exercises import Wrong


class CountedNet:
    """One rank's side: `rank`, `n`, and three collectives, which every rank calls in one order.

    `calls` has the name and the shape of each call, `sent_bytes` what left this rank since
    `reset`. Sums are added up in the order of the ranks, so that all ranks have the same bits.
    """

    def __init__(self, net: SimulatedNet) -> None:
        self.rank, self.n, self._net = net.rank, net.n, net
        self.reset()

    def reset(self) -> None:
        """Counts from zero again."""
        self.calls: list[str] = []
        self._sent_before = self._net.sent_bytes

    @property
    def sent_bytes(self) -> int:
        return self._net.sent_bytes - self._sent_before

    def all_reduce(self, x: Tensor) -> Tensor:
        """Adds up `x` over all ranks, in place, and returns it."""
        flat = self._called("all_reduce", x).reshape(-1)
        padded = torch.cat([flat, flat.new_zeros(-len(flat) % self.n)])
        total = self._gather(self._add_parts(padded))[: len(flat)]
        x.detach().copy_(total.view(x.shape))
        return x

    def reduce_scatter(self, x: Tensor) -> Tensor:
        """This rank's part of the sum of all `x`: the first of n goes to rank 0, and so on.

        Raises: ValueError where `x` can't be cut into n equal parts along its first dimension.
        """
        whole = self._called("reduce_scatter", x)
        if whole.dim() == 0 or len(whole) % self.n:
            size = f"a tensor of shape {list(whole.shape)}"
            raise ValueError(f"reduce_scatter: {size} has no {self.n} equal parts; pad it first")
        return self._add_parts(whole)

    def all_gather(self, x: Tensor) -> Tensor:
        """The `x` of all ranks, one behind the other along the first dimension."""
        return self._gather(self._called("all_gather", x))

    def _called(self, name: str, x: Any) -> Tensor:
        if not isinstance(x, Tensor):
            raise TypeError(f"{name} takes a tensor, not {type(x).__name__}")
        self.calls.append(f"{name} of {list(x.shape)}")
        return x.detach()

    def _add_parts(self, x: Tensor) -> Tensor:
        return torch.stack(self._swap(x.chunk(self.n) if self.n > 1 else [x])).sum(0)

    def _gather(self, x: Tensor) -> Tensor:
        return torch.cat(self._swap([x] * self.n))

    def _swap(self, given: Sequence[Tensor]) -> list[Tensor]:
        """Gives one tensor to each rank, its own among them; what came from each, in order."""
        came = list(given)
        for distance in range(1, self.n):
            to, source = (self.rank + distance) % self.n, (self.rank - distance) % self.n
            came[source] = torch.empty_like(given[self.rank])
            self._net.exchange(given[to], to, came[source], source)
        return came


def play(n: int, work: Callable[[CountedNet], Any]) -> list[Any]:
    """Runs `work` on each of `n` ranks and returns the results.

    Raises: Wrong for a deadlock, and whatever a rank raises.
    """
    try:
        return simulate(n, lambda net: work(CountedNet(net)))[0]
    except Deadlock as stuck:
        raise Wrong(f"{n} ranks: {stuck}; do all of them call the same collectives?") from None


def ring_bytes(numbers: int, n: int, times: int = 1) -> int:
    """Bytes that each of `n` ranks sends of so many FP32 numbers in a reduce_scatter or all_gather.

    An all_reduce is one of either: `times` is 2. Where n doesn't divide, the parts are padded.
    """
    return times * (n - 1) * 4 * -(-numbers // n)
