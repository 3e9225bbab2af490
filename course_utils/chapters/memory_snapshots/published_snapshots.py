"""Genuine snapshots of someone else's, from their numbers in data/published/; replayed."""

from collections.abc import Callable, Iterator
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


def agreed(make: Callable[[Driver], Any]) -> tuple[int, int]:
    """Returns how many requests of all published snapshots get the GPU's address, and how many
    there are.

    `make(driver)` is an allocator: `malloc(bytes, stream)` gives a block with its `address`, and
    `free(block)` takes it. Segments lie where the GPU's lay, in order. A request for which the
    driver is asked for other segments than the GPU's counts as answered otherwise.
    """
    found = [same for loss in losses() for same in _same_addresses(_rows(TRACE, loss), make)]
    return sum(found), len(found)


def _same_addresses(rows: list[Row], make: Callable[[Driver], Any]) -> Iterator[bool]:
    driver = Driver(places=[r["offset"] for r in rows if r["action"] == "segment_alloc"])
    allocator, blocks = make(driver), {}
    wanted: list[int] = []  # segments that the GPU asked for since the last request
    for row in rows:
        if row["action"] == "segment_alloc":
            wanted.append(row["n_bytes"])
        elif row["action"] == "alloc":
            calls = len(driver.calls)
            block = blocks[row["offset"]] = allocator.malloc(row["n_bytes"], row["stream"])
            made = [size for _, _, size in driver.calls[calls:]]
            yield made == wanted and block.address == row["offset"]
            wanted = []
        elif row["action"] == "free_completed":
            allocator.free(blocks.pop(row["offset"]))
