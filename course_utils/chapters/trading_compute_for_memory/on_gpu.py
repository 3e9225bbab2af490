"""Bytes and seconds of a piece of work on a GPU, and their rows in a table."""

from collections.abc import Callable, Iterable
from typing import Any

import torch

from course_utils.core.evidence import Series, recorded

Row = dict[str, Any]
UNITS = {"_bytes": ("GiB", 2**30), "_gb_per_s": ("GB/s", 1), "_seconds": ("ms", 1e-3)}
SPREAD = ("_q1", "_q3", "_n")


def held_and_seconds(step: Callable[[], Any]) -> Row:
    """Returns the bytes that `step()` holds at its peak beside those there before it, and its time.

    As columns `peak_bytes` and `step_seconds`. It runs once before, so that what the first call
    makes and keeps (an optimizer's states, cuBLAS's workspace) is there already.
    """
    from course_utils.core.timing import measure

    step()
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    step()
    torch.cuda.synchronize()
    peak = torch.cuda.max_memory_allocated() - before
    return {"peak_bytes": peak, "step_seconds": measure(step)}


def link_gb_per_s() -> float:
    """Returns the rate of copies between pinned host memory and the GPU, there and back, in GB/s.

    The two directions take turns, as they do on one stream.
    """
    from course_utils.core.timing import measure

    n_bytes = 2**28
    host = torch.empty(n_bytes, dtype=torch.uint8, pin_memory=True)
    there = torch.empty(n_bytes, dtype=torch.uint8, device="cuda")

    def both() -> None:
        there.copy_(host, non_blocking=True)
        host.copy_(there, non_blocking=True)

    return 2 * n_bytes / measure(both).median / 1e9


def in_units(rows: Iterable[Row]) -> list[Row]:
    """Returns rows of an experiment as those of a table: bytes in GiB, seconds in ms."""
    return [
        dict(_cell(*pair) for pair in row.items() if not pair[0].endswith(SPREAD)) for row in rows
    ]


def recorded_in_units(experiment: str) -> Series | None:
    """Returns a recording of this chapter as rows of such a table; None where there is none."""
    found = recorded(f"10_trading_compute_for_memory/{experiment}")
    return found and Series.of_rows(in_units(found.rows), found.kind, found.provenance)


def _cell(column: str, value: Any) -> tuple[str, str]:
    for end, (unit, size) in UNITS.items():
        if column.endswith(end):
            name = column.removesuffix(end).replace("_", " ").strip() or end
            return f"{name}, {unit}", f"{value / size:.2f}"
    return column, f"{value:,}" if isinstance(value, int) else str(value)
