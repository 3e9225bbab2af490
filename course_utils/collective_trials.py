"""What chapter 11 has its ranks do, by `ranks.run`: count, time and check collectives."""

from collections.abc import Sequence
from typing import Any

from course_utils.collectives import ALL_REDUCES, Wires, slowest_seconds


def count_all_reduce(way: str, numbers: int) -> dict[str, Any]:
    """An all_reduce by hand of `numbers` float32, each the rank's number: steps, bytes, sums."""
    import torch
    import torch.distributed as dist

    x, net = torch.full((numbers,), float(dist.get_rank())), Wires()
    ALL_REDUCES[way](x, net)
    return {"steps": net.steps, "sent": net.sent_bytes, "sum": x.unique().tolist()}


def time_all_reduces(
    sizes: Sequence[int], ways: Sequence[str] = ("gloo",), times: int = 1, device: str = "cpu"
) -> dict[tuple[str, int], float]:
    """Seconds of one all_reduce by way and size in bytes, on the slowest rank.

    A way is one of `ALL_REDUCES`, or anything else for the backend's own.
    """
    import torch
    import torch.distributed as dist

    found = {}
    for size in sizes:
        x, net = torch.ones(size // 4, device=device), Wires()
        for way in ways:

            def work(way: str = way, x: torch.Tensor = x, net: Wires = net) -> None:
                ALL_REDUCES[way](x, net) if way in ALL_REDUCES else dist.all_reduce(x)
                if x.is_cuda:
                    torch.cuda.synchronize()

            found[way, size] = slowest_seconds(work, times)
    return found


def sum_by(way: str, numbers: int = 10_000) -> Any:
    """The sum over the ranks of normal random numbers, added in the order of that way."""
    import torch
    import torch.distributed as dist

    x = torch.randn(numbers, generator=torch.Generator().manual_seed(dist.get_rank()))
    ALL_REDUCES[way](x, Wires())
    return x


def right_answers(device: str) -> dict[str, bool]:
    """Which of five collectives give the right answer on this device."""
    import torch
    import torch.distributed as dist

    rank, n = dist.get_rank(), dist.get_world_size()
    everyone = [torch.arange(float(n), device=device) + 10 * r for r in range(n)]
    mine, total = everyone[rank], torch.stack(everyone).sum(0)
    first, summed = mine.clone(), mine.clone()
    parts, swapped = ([torch.empty_like(p) for p in x] for x in (everyone, mine.split(1)))
    share = torch.empty_like(mine[:1])
    dist.broadcast(first, 0)
    dist.all_reduce(summed)
    dist.all_gather(parts, mine)
    dist.reduce_scatter(share, list(mine.split(1)))
    dist.all_to_all(swapped, list(mine.split(1)))
    return {
        "broadcast": torch.equal(first, everyone[0]),
        "all_reduce": torch.equal(summed, total),
        "all_gather": torch.equal(torch.stack(parts), torch.stack(everyone)),
        "reduce_scatter": torch.equal(share, total[rank : rank + 1]),
        "all_to_all": torch.equal(torch.cat(swapped), torch.stack(everyone)[:, rank]),
    }
