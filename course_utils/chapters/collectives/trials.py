"""What chapter 11 has its ranks do, by `ranks.run`: count, time and check collectives."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
import torch.distributed as dist

from course_utils.chapters.collectives import by_hand


def count_all_reduce(way: str, numbers: int) -> dict[str, Any]:
    """An all_reduce by hand of `numbers` float32, each the rank's number: steps, bytes, sums."""
    x, net = torch.full((numbers,), float(dist.get_rank())), by_hand.Wires()
    by_hand.ALL_REDUCES[way](x, net)
    return {"steps": net.steps, "sent": net.sent_bytes, "sum": x.unique().tolist()}


def time_all_reduces(
    sizes: Sequence[int], ways: Sequence[str] = ("gloo",), times: int = 1
) -> dict[tuple[str, int], float]:
    """Seconds of one all_reduce by way and size in bytes, on the slowest rank's processor.

    A way is one of `ALL_REDUCES`, or anything else for the backend's own.
    """
    found = {}
    for size in sizes:
        x, net = torch.ones(size // 4), by_hand.Wires()
        for way in ways:
            own = by_hand.ALL_REDUCES.get(way)
            work = partial(own, x, net) if own else partial(dist.all_reduce, x)
            found[way, size] = by_hand.slowest_seconds(work, times)
    return found


def time_on_gpus(n_bytes: int) -> float:
    """Seconds of an all_reduce of `n_bytes` on GPUs, on the slowest; the same on every rank.

    Loops are the longer the less there is to move: a hundred calls, or as many as move 2 GiB.
    """
    x = torch.zeros(n_bytes // 4, device="cuda")
    return by_hand.gpu_seconds(lambda: dist.all_reduce(x), min(100, max(5, 2**31 // n_bytes)))


def sum_by(way: str, numbers: int = 10_000) -> Any:
    """The sum over the ranks of normal random numbers, added in the order of that way."""
    x = torch.randn(numbers, generator=torch.Generator().manual_seed(dist.get_rank()))
    by_hand.ALL_REDUCES[way](x, by_hand.Wires())
    return x


def right_answer(name: str, device: str) -> dict[str, Any]:
    """Whether one of `ANSWERS` gives the right answer on this device, and over which backend."""
    n = dist.get_world_size()
    everyone = torch.arange(float(n * n), device=device).view(n, n)
    found, wanted = ANSWERS[name](everyone[dist.get_rank()].clone(), everyone)
    return {"backend": by_hand.backend_of(device), "right": torch.equal(found, wanted)}


def _broadcast(mine: Any, everyone: Any) -> tuple[Any, Any]:
    dist.broadcast(mine, 0)
    return mine, everyone[0]


def _all_reduce(mine: Any, everyone: Any) -> tuple[Any, Any]:
    dist.all_reduce(mine)
    return mine, everyone.sum(0)


def _all_gather(mine: Any, everyone: Any) -> tuple[Any, Any]:
    found = everyone.new_zeros(everyone.shape)
    dist.all_gather(list(found), mine)
    return found, everyone


def _reduce_scatter(mine: Any, everyone: Any) -> tuple[Any, Any]:
    found = mine.new_zeros(1)
    dist.reduce_scatter(found, list(mine.split(1)))
    rank = dist.get_rank()
    return found, everyone.sum(0)[rank : rank + 1]


def _all_to_all(mine: Any, everyone: Any) -> tuple[Any, Any]:
    found = mine.new_zeros(mine.shape)
    dist.all_to_all_single(found, mine)
    return found, everyone[:, dist.get_rank()]


# By name, a collective of a rank's row of a matrix: what this rank got, and what it should have.
ANSWERS: dict[str, Callable[[Any, Any], tuple[Any, Any]]] = {
    "broadcast": _broadcast,
    "all_reduce": _all_reduce,
    "all_gather": _all_gather,
    "reduce_scatter": _reduce_scatter,
    "all_to_all": _all_to_all,
}
