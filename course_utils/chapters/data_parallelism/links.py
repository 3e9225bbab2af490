"""Links for chapter 12's ranks: one that counts messages, and one that only takes time.

While bytes travel between machines, their CPUs are free. On one machine the cores that compute
also carry the messages, so a slow link between machines is simulated by a clock.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import torch
import torch.distributed as dist

from course_utils.chapters.collectives.by_hand import Net, naive_all_reduce
from course_utils.figures.timeline import Span, Spans


class Work(Protocol):
    """A message that was sent."""

    def wait(self) -> object:
        """Waits for the sum."""


class CountedLink:
    """Counts the calls of torch.distributed's all_reduce, and the bytes of their tensors."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Counts from zero again."""
        self.messages = self.n_bytes = 0

    def all_reduce(self, x: torch.Tensor) -> Work:
        """Starts to sum `x` over all ranks, in place."""
        self.messages += 1
        self.n_bytes += x.nbytes
        return self._begin(x)

    def _begin(self, x: torch.Tensor) -> Work:
        work: Work = dist.all_reduce(x, async_op=True)
        return work


class ClockLink(CountedLink):
    """A simulated link: it sums nothing, and uses no CPU.

    It carries one message at a time, as an NCCL stream does: each takes `alpha` seconds and `beta`
    a byte. A rank that waits sleeps. `spans` has all messages and waits.
    """

    def __init__(self, alpha: float = 0.0, beta: float = 0.0) -> None:
        self.alpha, self.beta = alpha, beta
        super().__init__()

    def reset(self) -> None:
        """Counts from zero again; the link is free."""
        super().reset()
        self.spans = Spans()
        self._free = 0.0

    def clock(self, step: Callable[[], object]) -> float:
        """Seconds of a step over this link; `spans` count from its start."""
        self.reset()
        start = time.perf_counter()
        step()
        end = time.perf_counter()
        self.spans = Spans(
            [replace(s, start=s.start - start, end=s.end - start) for s in self.spans]
        )
        return end - start

    def _begin(self, x: torch.Tensor) -> Work:
        now = time.perf_counter()
        begin = max(now, self._free)
        self._free = begin + self.alpha + self.beta * x.nbytes
        self.spans.append(Span("link", "all_reduce", begin, self._free))
        return _Due(self._free, self.spans)


@dataclass(frozen=True)
class _Due:
    """A message that is complete at a time."""

    at: float
    spans: Spans

    def wait(self) -> None:
        with self.spans.span("wait", "rank"):
            while (left := self.at - time.perf_counter()) > 0:
                time.sleep(left)


def apart(x: torch.Tensor, y: torch.Tensor) -> float:
    """Returns the norm of x − y over the norm of y."""
    return ((x - y).norm() / y.norm()).item()


def farthest(rows: Sequence[Mapping[Any, torch.Tensor]], way: Any, origin: Any) -> float:
    """Returns how far any rank's tensor `way` is from rank 0's `origin`; a dict for each rank."""
    return max(apart(row[way], rows[0][origin]) for row in rows if way in row)


class PlayedLink:
    """Sums and broadcasts of a simulated rank (`simulated_ranks`); each call waits.

    `sizes` are the bytes of each message, in order.
    """

    def __init__(self, net: Net) -> None:
        self.rank, self.n, self._net = net.rank, net.n, net
        self.sizes: list[int] = []

    def all_reduce(self, x: torch.Tensor) -> None:
        """Sums `x` over all ranks, in place."""
        self.sizes.append(x.nbytes)
        naive_all_reduce(x.detach(), self._net)

    def broadcast(self, x: torch.Tensor, source: int) -> None:
        """Copies the `x` of one rank to all, in place."""
        self.sizes.append(x.nbytes)
        if self.rank != source:
            self._net.receive(x.detach(), source)
            return
        for to in {*range(self.n)} - {source}:
            self._net.send(x.detach(), to)
