"""Genuine snapshots of someone else's, from their numbers in data/published/; replayed."""

from collections.abc import Callable
from functools import cache
from itertools import groupby
from typing import Any

from course_utils.core.evidence import Row, published
from course_utils.memory.made_snapshots import loaded
from snapshots_and_traces.allocator.rules import Driver
from snapshots_and_traces.snapshots.snapshot import Snapshot

TRACE, BLOCKS = "cross_entropy_trace", "cross_entropy_blocks"


@cache
def published_snapshot(loss: str) -> Snapshot:
    """What torch's allocator did on a GPU during one cross-entropy, forward and backward.

    `loss` is "F.cross_entropy" or "Liger's". Addresses count from the lowest in use, times are
    places in the trace; of the call stacks only torch's operator is there.
    Raises: LookupError for another loss; EvidenceError where the numbers aren't there.
    """
    segments = groupby(_rows(BLOCKS, loss), key=lambda row: row["segment_offset"])
    content = {
        "segments": [_segment(offset, list(rows)) for offset, rows in segments],
        "device_traces": [[_event(place, row) for place, row in enumerate(_rows(TRACE, loss))]],
    }
    return loaded(content, f"cross-entropy, {loss}")


def losses() -> list[str]:
    """The losses whose snapshots were published."""
    return list(dict.fromkeys(published(TRACE).column("loss")))


def _rows(name: str, loss: str) -> list[Row]:
    rows = [row for row in published(name).rows if row["loss"] == loss]
    if not rows:
        raise LookupError(f"no snapshot of {loss!r}; there are {', '.join(losses())}")
    return rows


def _event(place: int, row: Row) -> dict[str, Any]:
    name = f"at::_ops::{row['operator']}::call"  # as C++ spells an operator in a real file
    return {
        "action": row["action"],
        "addr": row["offset"],
        "size": row["n_bytes"],
        "stream": row["stream"],
        "time_us": place,
        "frames": [{"name": name, "filename": "", "line": 0}] if row["operator"] else [],
    }


def _segment(offset: int, rows: list[Row]) -> dict[str, Any]:
    total = sum(row["n_bytes"] for row in rows)
    return {
        "device": 0,
        "address": offset,
        "total_size": total,
        "stream": 0,
        "segment_type": "small" if total <= 2 * 2**20 else "large",
        "is_expandable": False,
        "blocks": [
            {
                "address": row["offset"],
                "size": row["n_bytes"],
                "requested_size": row["requested_bytes"],
                "state": row["state"],
                "frames": [],
            }
            for row in rows
        ],
        "frames": [],
    }


def replayed(loss: str, make: Callable[[Driver], Any]) -> list[Row]:
    """What a published snapshot's GPU did, event by event, and what `make(driver)` does instead.

    Its allocator is asked what torch's was asked: `malloc(bytes, stream)`, which gives a block
    with its `address` in bytes, and `free(block)`. Segments lie where the GPU's lay, in order.
    A row has the published columns, `here`, the address of the event (None where nothing of the
    kind happened), and `same`: for a request whether its address is the GPU's, `offset`, for a
    segment whether the driver was asked for as many bytes.
    Raises: LookupError for another loss.
    """
    rows = [{**row, "here": None, "same": False} for row in _rows(TRACE, loss)]
    rows = [row for row in rows if row["action"] != "free_requested"]
    driver = Driver(places=[r["offset"] for r in rows if r["action"] == "segment_alloc"])
    allocator, blocks, calls = make(driver), {}, 0
    asked: list[Row] = []
    for row in rows:
        if row["action"] == "segment_alloc":
            asked.append(row)
        elif row["action"] == "alloc":
            block = blocks[row["offset"]] = allocator.malloc(row["n_bytes"], row["stream"])
            made, calls = driver.calls[calls:], len(driver.calls)
            for segment, (_, at, size) in zip(asked, made, strict=False):
                segment |= {"here": at, "same": size == segment["n_bytes"]}
            found = len(made) == len(asked) and all(segment["same"] for segment in asked)
            row |= {"here": block.address, "same": found and block.address == row["offset"]}
            asked = []
        elif row["action"] == "free_completed":
            block = blocks.pop(row["offset"])
            row |= {"here": block.address, "same": block.address == row["offset"]}
            allocator.free(block)
    return rows


def replayed_rows(loss: str, make: Callable[[Driver], Any]) -> list[Row]:
    """`replayed`, as rows of a table: bytes with commas, addresses in hexadecimal."""
    return [
        {
            "event": row["action"],
            "bytes": f"{row['n_bytes']:,}",
            "asked by": row["operator"],
            "GPU": f"{row['offset']:#x}",
            "here": "–" if row["here"] is None else f"{row['here']:#x}",
        }
        for row in replayed(loss, make)
    ]


def agreed(make: Callable[[Driver], Any]) -> tuple[int, int]:
    """Of the requests of all published snapshots: at the GPU's addresses, and how many there are.

    A request also counts as answered otherwise where another segment was asked of the driver.
    """
    rows = [row for loss in losses() for row in replayed(loss, make) if row["action"] == "alloc"]
    return sum(row["same"] for row in rows), len(rows)
