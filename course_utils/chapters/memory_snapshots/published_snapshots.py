"""Genuine snapshots of someone else's, from their numbers in data/published/."""

from functools import cache
from itertools import groupby
from typing import Any

from course_utils.core.evidence import Row, published
from course_utils.memory.made_snapshots import loaded
from snapshots_and_traces.snapshots.snapshot import Snapshot

TRACE, BLOCKS = "cross_entropy_trace", "cross_entropy_blocks"


@cache
def published_snapshot(loss: str) -> Snapshot:
    """A published snapshot of one cross-entropy on a GPU, forward and backward.

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
