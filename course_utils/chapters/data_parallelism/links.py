"""An all_reduce that counts its messages and bytes, and one whose link is slow on purpose.

A link of `alpha` seconds a message and `beta` seconds a byte that a ring's rank sends, 2(n−1)/n of
the tensor, makes two cores behave as two machines do: while bytes travel, the processor is free.
"""

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Protocol

import torch
import torch.distributed as dist

from course_utils.chapters.collectives.by_hand import Net, naive_all_reduce
from course_utils.figures.timeline import Spans


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

    def all_gather(self, x: torch.Tensor) -> torch.Tensor:
        """The `x` of all ranks, one behind the other; counted as one message of this rank's."""
        self.messages += 1
        self.n_bytes += x.nbytes
        parts = [torch.empty_like(x) for _ in range(dist.get_world_size())]
        dist.all_gather(parts, x)
        return torch.cat(parts)

    def _begin(self, x: torch.Tensor) -> Work:
        work: Work = dist.all_reduce(x, async_op=True)
        return work


class SlowLink(CountedLink):
    """A link on which one message after the other takes α + β·bytes.

    A thread sleeps for that time and then adds up, so the caller's own thread can compute.
    `spans` has what ran while `watch` did: on the rank's row and on its link's.
    """

    def __init__(self, alpha: float, beta: float) -> None:
        super().__init__()
        self.alpha, self.beta = alpha, beta
        self.spans, self._watched = Spans(), False
        self._thread = ThreadPoolExecutor(1, "link")

    def seconds(self, n_bytes: int, n: int) -> float:
        """What one message costs on this link, between `n` ranks."""
        return self.alpha + self.beta * 2 * (n - 1) / n * n_bytes

    def watch(self, step: Callable[[], object]) -> None:
        """Runs a step, all ranks at once; its spans are "compute", "wait" and "all_reduce"."""
        dist.barrier()
        self._watched = True
        with self._span("compute", f"rank {dist.get_rank()}"):
            step()
        self._watched = False

    def _begin(self, x: torch.Tensor) -> Work:
        return _Task(self, self._thread.submit(self._carry, x))

    def _carry(self, x: torch.Tensor) -> None:
        rank, n = dist.get_rank(), dist.get_world_size()
        with self._span("all_reduce", f"rank {rank}, link"):
            time.sleep(self.seconds(x.nbytes, n))
            dist.all_reduce(x)

    def _span(self, label: str, row: str) -> AbstractContextManager[None]:
        return self.spans.span(label, row) if self._watched else nullcontext()


@dataclass(frozen=True)
class _Task:
    """A message of a slow link."""

    link: SlowLink
    future: "Future[None]"

    def wait(self) -> None:
        with self.link._span("wait", f"rank {dist.get_rank()}"):
            self.future.result()


def apart(x: torch.Tensor, y: torch.Tensor) -> float:
    """How far `x` is from `y`, relative to `y`: the norm of the difference over the norm."""
    return ((x - y).norm() / y.norm()).item()


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
