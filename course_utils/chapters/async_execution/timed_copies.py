"""The copies that chapter 2 times: one large or many small ones, pinned or not, waiting or not."""

from collections.abc import Callable
from typing import Any

import torch

from course_utils.core.evidence import Row
from course_utils.core.timing import measure

SHAPES = {"one of 256 MiB": (1, 2**28), "1,000 of 4 KB": (1000, 4000)}  # copies, bytes of each
WAYS = ("pageable", "pageable, non_blocking", "pinned", "pinned, non_blocking")


def copy_cases() -> list[Row]:
    """Every case, as what identifies its row: `what` is copied, `to` where, in which `way`."""
    return [
        {"what": what, "to": to, "way": way}
        for what in SHAPES
        for to in ("GPU", "host")
        for way in WAYS
    ]


def copy_ends(what: str, to: str, way: str) -> tuple[Any, Any]:
    """Targets and sources of a case, as the rows of two tensors of bytes; a GPU holds one of them.

    What is on the host is pinned where the way says so. Raises: KeyError for another `what`.
    """
    shape, bytes_ = SHAPES[what], torch.uint8
    host = torch.ones(shape, dtype=bytes_, pin_memory=way.startswith("pinned"))
    gpu = torch.ones(shape, dtype=bytes_, device="cuda")
    return (gpu, host) if to == "GPU" else (host, gpu)


def time_copies(copy_all: Callable[[Any, Any, bool], Any], case: Row) -> Row:
    """Seconds, and GB/s (10⁹ bytes), of `copy_all(targets, sources, later)` in a case.

    By the host's clock, since what a waiting host loses is part of it. `later` says that the way
    is non_blocking.
    """
    targets, sources = copy_ends(**case)
    later = case["way"].endswith("non_blocking")
    took = measure(
        lambda: copy_all(targets, sources, later), clock="host", budget_seconds=0.15
    ).median
    return {"seconds": took, "gb_per_s": sources.nbytes / 1e9 / took}
