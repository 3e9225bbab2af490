"""An all_reduce that counts its messages and bytes, and one that takes time and nothing else.

While bytes travel between machines, their processors are free: no two ranks on one machine behave
so, whose cores are the network as well. A link that is a clock does.
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
    """A message on its way."""

    def wait(self) -> object:
        """Returns when the sum is there."""


class CountedLink:
    """torch.distributed's all_reduce, not waited for; `messages` and `n_bytes` count the calls.

    `n_bytes` are those of the tensors that were handed over, whatever the algorithm sends of them.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Counts from zero again."""
        self.messages = self.n_bytes = 0

    def all_reduce(self, x: torch.Tensor) -> Work:
        """Begins to add up `x` over all ranks, in place."""
        self.messages += 1
        self.n_bytes += x.nbytes
        return self._begin(x)

    def _begin(self, x: torch.Tensor) -> Work:
        work: Work = dist.all_reduce(x, async_op=True)
        return work


class ClockLink(CountedLink):
    """A link of time alone: it adds nothing up, and no processor works for it.

    Messages go one after the other, as NCCL's do on a stream: each takes `alpha` seconds and
    `beta` a byte of its tensor. Who waits sleeps until its message is due. `spans` has when a
    message was on its way and when its rank waited; `given` when each was handed over.
    """

    def __init__(self, alpha: float = 0.0, beta: float = 0.0) -> None:
        self.alpha, self.beta = alpha, beta
        super().__init__()

    def reset(self) -> None:
        """Counts from zero again; nothing is on its way."""
        super().reset()
        self.spans, self.given = Spans(), list[float]()
        self._free = 0.0

    def clock(self, step: Callable[[], object]) -> float:
        """Seconds of a step over this link; `given` and `spans` count from its begin."""
        self.reset()
        start = time.perf_counter()
        step()
        end = time.perf_counter()
        self.given = [at - start for at in self.given]
        shifted = [replace(s, start=s.start - start, end=s.end - start) for s in self.spans]
        self.spans = Spans([Span("rank", "compute", 0.0, end - start), *shifted])
        return end - start

    def _begin(self, x: torch.Tensor) -> Work:
        now = time.perf_counter()
        begin = max(now, self._free)
        self._free = begin + self.alpha + self.beta * x.nbytes
        self.given.append(now)
        self.spans.append(Span("link", "all_reduce", begin, self._free))
        return _Due(self._free, self.spans)


@dataclass(frozen=True)
class _Due:
    """A message that is there at a time."""

    at: float
    spans: Spans

    def wait(self) -> None:
        with self.spans.span("wait", "rank"):
            while (left := self.at - time.perf_counter()) > 0:
                time.sleep(left)


def apart(x: torch.Tensor, y: torch.Tensor) -> float:
    """How far `x` is from `y`, relative to `y`: the norm of the difference over the norm."""
    return ((x - y).norm() / y.norm()).item()


def farthest(rows: Sequence[Mapping[Any, torch.Tensor]], way: Any, origin: Any) -> float:
    """How far any rank's tensor `way` is from rank 0's `origin`; `rows` has a dict by rank."""
    return max(apart(row[way], rows[0][origin]) for row in rows if way in row)


class PlayedLink:
    """Sums and broadcasts of a rank that a thread plays (`simulated_ranks`); each call waits.

    `sizes` are the bytes of each message, in order; `rank` and `n` say who this is.
    """

    def __init__(self, net: Net) -> None:
        self.rank, self.n, self._net = net.rank, net.n, net
        self.sizes: list[int] = []

    def all_reduce(self, x: torch.Tensor) -> None:
        """Adds up `x` over all ranks, in place."""
        self.sizes.append(x.nbytes)
        naive_all_reduce(x.detach(), self._net)

    def broadcast(self, x: torch.Tensor, source: int) -> None:
        """Gives every rank the `x` of one, in place."""
        self.sizes.append(x.nbytes)
        if self.rank != source:
            self._net.receive(x.detach(), source)
            return
        for to in {*range(self.n)} - {source}:
            self._net.send(x.detach(), to)
