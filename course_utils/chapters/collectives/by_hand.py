"""Tools for an all_reduce by hand: a rank's net, the naive algorithm, and timers for all ranks.

An algorithm takes a `Net`: the chapter's own over torch.distributed, or a rank of
`simulated_ranks`. The other algorithms are in the chapter.
"""

import time
from collections.abc import Callable
from statistics import median
from typing import Protocol

import torch
import torch.distributed as dist

HOLD_CYCLES = 40_000_000  # 20 ms and more, in which a hundred collectives are launched


class Net(Protocol):
    """A rank as an algorithm sees it: its number, and messages to and from the others."""

    rank: int
    n: int

    def send(self, x: torch.Tensor, to: int) -> None:
        """Gives `x` to a rank; returns when that rank takes it."""

    def receive(self, into: torch.Tensor, source: int) -> None:
        """Waits for a tensor from a rank, and writes it over `into`."""

    def exchange(self, x: torch.Tensor, to: int, into: torch.Tensor, source: int) -> None:
        """Sends and receives at once: one step."""


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


def slowest_seconds(
    work: Callable[[], object], times: int = 7, warm_up: int = 1, calls: int = 1
) -> float:
    """Seconds of one call on the slowest rank, the median of several; the same on every rank.

    To be called by all ranks. All begin together, after a barrier, and `warm_up` calls come before
    the first that is timed. With `calls`, so many follow each other between two barriers, which
    ranks don't leave at one moment: right for what takes no longer than that.
    """
    took = []
    for _ in range(warm_up + times):
        dist.barrier()
        start = time.perf_counter()
        for _ in range(calls):
            work()
        seconds = torch.tensor((time.perf_counter() - start) / calls, dtype=torch.float64)
        dist.all_reduce(seconds, dist.ReduceOp.MAX)
        took.append(seconds.item())
    return median(took[warm_up:])


def gpu_seconds(
    work: Callable[[], object], times: int, warm_up: int = 5, queued: bool = True
) -> float:
    """Seconds of one call of `work` on the slowest rank's GPU, in a loop between two events.

    To be called by all ranks. Warm-up, a barrier of the GPUs (a sum of one number, over the backend
    that moves their tensors), then `times` calls without a wait between. nccl-tests times the same
    loop with the host's clock, up to a final completion, and takes the ranks' mean. With `queued`
    the GPU is kept busy before, so that no launch by Python is timed: right for collectives, and
    wrong for steps whose launches belong to them.
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
