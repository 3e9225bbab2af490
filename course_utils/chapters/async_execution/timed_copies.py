"""The copies that chapter 2 times: one large or many small ones, pinned or not, waiting or not."""

from collections.abc import Callable
from typing import Any

import torch

from course_utils.core.evidence import Row
from course_utils.core.timing import measure

SMALL, LARGE = (1000, 4000), (1, 2**28)  # copies, bytes of each
ONCE = "256 MiB, "  # how the name of a large copy's way begins
WAYS = ("pageable", "pageable, non_blocking", "pinned", "pinned, non_blocking")


def copy_cases() -> list[Row]:
    """Every case, as what identifies its row: in which `way` is copied, `to` where.

    A thousand tensors of 4 KB are, but in a way such as "256 MiB, pinned": there it is one.
    """
    return [
        {"way": size + way, "to": to}
        for size in ("", ONCE)
        for to in ("GPU", "host")
        for way in WAYS
    ]


def copy_ends(way: str, to: str) -> tuple[Any, Any]:
    """Targets and sources of a case, as the rows of two tensors of bytes; a GPU holds one of them.

    What is on the host is pinned where the way says so.
    """
    shape, bytes_ = LARGE if way.startswith(ONCE) else SMALL, torch.uint8
    host = torch.ones(shape, dtype=bytes_, pin_memory="pinned" in way)
    gpu = torch.ones(shape, dtype=bytes_, device="cuda")
    return (gpu, host) if to == "GPU" else (host, gpu)


def time_copies(copy_all: Callable[[Any, Any, bool], Any], case: Row) -> Row:
    """Seconds, and GB/s (10⁹ bytes), of `copy_all(targets, sources, later)` in a case.

    By the host's clock, since what a waiting host loses is part of it. `later` says that the way
    is non_blocking.
    """
    targets, sources = (list(tensor) for tensor in copy_ends(**case))
    later = case["way"].endswith("non_blocking")
    took = measure(
        lambda: copy_all(targets, sources, later), clock="host", budget_seconds=0.15
    ).median
    n_bytes = sum(source.nbytes for source in sources)
    return {"seconds": took, "gb_per_s": n_bytes / 1e9 / took}
