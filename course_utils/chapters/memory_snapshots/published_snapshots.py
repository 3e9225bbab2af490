"""Genuine snapshots of someone else's, from their numbers in data/published/; replayed."""

from collections.abc import Callable, Iterable
from functools import cache
from itertools import groupby
from typing import Any

from course_utils.chapters.memory_snapshots.made_snapshots import loaded
from course_utils.core.evidence import Row, published
from course_utils.memory.allocator.rules import Driver
from course_utils.memory.snapshots.snapshot import Snapshot

TRACE, BLOCKS = "cross_entropy_trace", "cross_entropy_blocks"


@cache
def published_snapshot(loss: str) -> Snapshot:
    """What torch's allocator did on a GPU during one cross-entropy, forward and backward.

    `loss` is "F.cross_entropy" or "Liger's". Addresses count from the lowest in use, times are
    places in the trace; of the call stacks only torch's operator is there.
    Raises: LookupError for another loss; EvidenceError where the numbers aren't there.
    """
    events, blocks = (
        [row for row in published(name).rows if row["loss"] == loss] for name in (TRACE, BLOCKS)
    )
    if not events:
        raise LookupError(f"no snapshot of {loss!r}; there are {', '.join(losses())}")
    segments = groupby(blocks, key=lambda row: row["segment_offset"])
    content = {
        "segments": [_segment(offset, list(rows)) for offset, rows in segments],
        "device_traces": [[_event(place, row) for place, row in enumerate(events)]],
    }
    return loaded(content, f"cross-entropy, {loss}")


def losses() -> list[str]:
    """The losses whose snapshots were published."""
    return list(dict.fromkeys(published(TRACE).column("loss")))


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


class Placed(Driver):
    """Puts segments at the given addresses, in order, then where `Driver` would."""

    def __init__(self, addresses: Iterable[int]) -> None:
        super().__init__()
        self._places = iter(addresses)

    def reserve(self, size: int) -> int:
        """The next given address."""
        place = next(self._places, None)
        return super().reserve(size) if place is None else place


def replayed(loss: str, make: Callable[[Driver], Any]) -> list[Row]:
    """What a published snapshot's GPU did, event by event, and what `make(driver)` does instead.

    Its allocator is asked what torch's was asked: `malloc(bytes, stream)`, which gives a block
    with its `address` in bytes, and `free(block)`. Segments lie where the GPU's lay, in order.
    Each row has `event`, `n_bytes`, the `operator` that asked, `gpu` and `here`, both addresses of
    the event (`here` None where nothing of the kind happened), and `same`: for a request whether
    its address is the GPU's, for a segment whether the driver was asked for as many bytes.
    Raises: LookupError for another loss.
    """
    rows = _plain_rows(loss)
    driver = Placed(row["gpu"] for row in rows if row["event"] == "segment_alloc")
    allocator, blocks, calls = make(driver), {}, 0
    asked: list[Row] = []
    for row in rows:
        if row["event"] == "segment_alloc":
            asked.append(row)
        elif row["event"] == "alloc":
            block = blocks[row["gpu"]] = allocator.malloc(row["n_bytes"], row["stream"])
            made, calls = driver.calls[calls:], len(driver.calls)
            for segment, (_, at, size) in zip(asked, made, strict=False):
                segment |= {"here": at, "same": size == segment["n_bytes"]}
            found = len(made) == len(asked) and all(segment["same"] for segment in asked)
            row |= {"here": block.address, "same": found and block.address == row["gpu"]}
            asked = []
        elif row["event"] == "free_completed":
            block = blocks.pop(row["gpu"])
            row |= {"here": block.address, "same": block.address == row["gpu"]}
            allocator.free(block)
    return rows


def replayed_rows(loss: str, make: Callable[[Driver], Any]) -> list[Row]:
    """`replayed`, as rows of a table: bytes with commas, addresses in hexadecimal."""
    return [
        {
            "event": row["event"],
            "bytes": f"{row['n_bytes']:,}",
            "asked by": row["operator"],
            "GPU": f"{row['gpu']:#x}",
            "here": "–" if row["here"] is None else f"{row['here']:#x}",
        }
        for row in replayed(loss, make)
    ]


def _plain_rows(loss: str) -> list[Row]:
    if loss not in losses():
        raise LookupError(f"no snapshot of {loss!r}; there are {', '.join(losses())}")
    return [
        {name: row[name] for name in ("n_bytes", "operator", "stream")}
        | {"event": row["action"], "gpu": row["offset"], "here": None, "same": False}
        for row in published(TRACE).rows
        if row["loss"] == loss and row["action"] != "free_requested"
    ]


def agreed(make: Callable[[Driver], Any]) -> tuple[int, int]:
    """Of the requests of all published snapshots: at the GPU's addresses, and how many there are.

    A request also counts as answered otherwise where another segment was asked of the driver.
    """
    rows = [row for loss in losses() for row in replayed(loss, make) if row["event"] == "alloc"]
    return sum(row["same"] for row in rows), len(rows)
