"""all_reduce by hand, from send and receive: naive, tree and ring, with steps and bytes counted.

The algorithms take a `Net`: `Wires` over torch.distributed's ranks, or a rank of `simulated_ranks`.
Sources: Thakur, Rabenseifner and Gropp 2005 (tree, ring); Patarasuk and Yuan 2009 (ring).
"""

import math
import time
from collections.abc import Callable
from statistics import median
from typing import Protocol

import torch
import torch.distributed as dist

HOLD_CYCLES = 40_000_000  # 20 ms and more, in which a hundred collectives are launched


class Net(Protocol):
    """What an algorithm needs of a rank: who it is, and messages to and from the others.

    Every call is one step; `sent_bytes` counts what left this rank.
    """

    rank: int
    n: int
    steps: int
    sent_bytes: int

    def send(self, x: torch.Tensor, to: int) -> None:
        """Gives `x` to a rank; returns when that rank takes it."""

    def receive(self, into: torch.Tensor, source: int) -> None:
        """Waits for a tensor from a rank, and writes it over `into`."""

    def exchange(self, x: torch.Tensor, to: int, into: torch.Tensor, source: int) -> None:
        """Sends and receives at once: one step."""


class Wires:
    """The net of a rank of torch.distributed."""

    def __init__(self) -> None:
        self.rank, self.n = dist.get_rank(), dist.get_world_size()
        self.steps = self.sent_bytes = 0

    def send(self, x: torch.Tensor, to: int) -> None:
        self._count(x)
        dist.send(x, to)

    def receive(self, into: torch.Tensor, source: int) -> None:
        self.steps += 1
        dist.recv(into, source)

    def exchange(self, x: torch.Tensor, to: int, into: torch.Tensor, source: int) -> None:
        self._count(x)
        sending = dist.isend(x, to)
        dist.recv(into, source)
        if sending is not None:
            sending.wait()

    def _count(self, x: torch.Tensor) -> None:
        self.steps += 1
        self.sent_bytes += x.nbytes


def naive_all_reduce(x: torch.Tensor, net: Net) -> None:
    """Everyone sends `x` to rank 0, which adds and sends the sum back to everyone. In place."""
    others = range(1, net.n)
    if net.rank == 0:
        part = x.clone()
        for source in others:
            net.receive(part, source)
            x += part
        for to in others:
            net.send(x, to)
    else:
        net.send(x, 0)
        net.receive(x, 0)


def tree_all_reduce(x: torch.Tensor, net: Net) -> None:
    """Pairs add, then pairs of pairs; the sum goes back down the same (binomial) tree. In place."""
    distances = [2**k for k in range((net.n - 1).bit_length())]
    part = x.clone()
    for distance in distances:
        if net.rank % (2 * distance) == distance:
            net.send(x, net.rank - distance)
        elif net.rank % (2 * distance) == 0 and net.rank + distance < net.n:
            net.receive(part, net.rank + distance)
            x += part
    for distance in reversed(distances):
        if net.rank % (2 * distance) == distance:
            net.receive(x, net.rank - distance)
        elif net.rank % (2 * distance) == 0 and net.rank + distance < net.n:
            net.send(x, net.rank + distance)


def ring_all_reduce(x: torch.Tensor, net: Net) -> None:
    """Each rank passes a chunk to its right, n−1 times to add it up and n−1 times to share it.

    In place; `x` is one-dimensional and contiguous, of any length.
    """
    chunks, right, left = x.tensor_split(net.n), (net.rank + 1) % net.n, (net.rank - 1) % net.n
    for step in range(net.n - 1):  # reduce_scatter
        mine, theirs = chunks[(net.rank - step) % net.n], chunks[(net.rank - step - 1) % net.n]
        part = theirs.clone()
        net.exchange(mine, right, part, left)
        theirs += part
    for step in range(net.n - 1):  # all_gather
        mine, theirs = chunks[(net.rank + 1 - step) % net.n], chunks[(net.rank - step) % net.n]
        net.exchange(mine, right, theirs, left)


ALL_REDUCES = {"naive": naive_all_reduce, "tree": tree_all_reduce, "ring": ring_all_reduce}


def formula(kind: str, n: int, n_bytes: float) -> tuple[int, float]:
    """Steps and sent bytes of the busiest rank of `n` in an all_reduce of `n_bytes`."""
    levels = math.ceil(math.log2(n))
    return {
        "naive": (2 * (n - 1), (n - 1) * n_bytes),
        "tree": (2 * levels, levels * n_bytes),
        "ring": (2 * (n - 1), 2 * (n - 1) / n * n_bytes),
    }[kind]


def slowest_seconds(work: Callable[[], object], times: int = 7, warm_up: int = 1) -> float:
    """Seconds of one call on the slowest rank, the median of several; the same on every rank.

    To be called by all ranks. All begin together, after a barrier, and `warm_up` calls come before
    the first that is timed.
    """
    took = []
    for _ in range(warm_up + times):
        dist.barrier()
        start = time.perf_counter()
        work()
        seconds = torch.tensor(time.perf_counter() - start, dtype=torch.float64)
        dist.all_reduce(seconds, dist.ReduceOp.MAX)
        took.append(seconds.item())
    return median(took[warm_up:])


def gpu_seconds(
    work: Callable[[], object], times: int, warm_up: int = 5, queued: bool = True
) -> float:
    """Seconds of one call of `work` on the slowest rank's GPU, in a loop between two events.

    To be called by all ranks. As nccl-tests does it: warm-up, a barrier of the GPUs (a sum of one
    number, over the backend that moves their tensors), then `times` calls without a wait between.
    With `queued` the GPU is kept busy before, so that no launch by Python is timed: right for
    collectives, and wrong for steps whose launches belong to them.
    """
    for _ in range(warm_up):
        work()
    torch.cuda.synchronize()
    begun, ended = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    if queued:
        torch.cuda._sleep(HOLD_CYCLES)
    dist.all_reduce(torch.zeros(1, device="cuda"))
    begun.record()
    for _ in range(times):
        work()
    ended.record()
    ended.synchronize()
    seconds = torch.tensor(begun.elapsed_time(ended) / 1e3 / times, device="cuda")
    dist.all_reduce(seconds, dist.ReduceOp.MAX)
    return seconds.item()


def backend_of(device: str) -> str:
    """The backend of this rank's group that moves tensors of a device: "gloo" or "nccl"."""
    pairs = (pair.split(":") for pair in dist.get_backend_config().split(","))
    return dict(pairs)[device.partition(":")[0]]
