"""The memory map of a device at a moment: blocks in segments, and the free bytes between."""

from dataclasses import dataclass

import numpy as np

from snapshots_and_traces.snapshots.lives import Array, History

KINDS = ("handed out", "free, in a segment in use", "free, whole segment")


@dataclass(frozen=True)
class MemoryMap:
    """The segments of a moment end to end, by address: `edges` is where each begins, and the end.

    Blocks go from `low` to `high` on this map, in order; `segment` says in which each is.
    """

    edges: Array
    low: Array
    high: Array
    segment: Array

    @property
    def reserved(self) -> int:
        """Bytes of all segments."""
        return int(self.edges[-1])

    @property
    def empty(self) -> Array:
        """Which segments have no used byte, so that they could be given back."""
        used = np.bincount(self.segment, self.high - self.low, len(self.edges) - 1)
        return np.asarray(used == 0)

    @property
    def bytes_by_kind(self) -> dict[str, int]:
        used = int((self.high - self.low).sum())
        whole = int(np.diff(self.edges)[self.empty].sum())
        return dict(zip(KINDS, (used, self.reserved - used - whole, whole), strict=True))

    @property
    def largest_free(self) -> int:
        """Bytes of the largest block that needs no request to the driver."""
        before = np.maximum(np.append(0, self.high[:-1]), self.edges[self.segment])
        last = self.edges[:-1].copy()
        np.maximum.at(last, self.segment, self.high)
        gaps = (self.low - before[: len(self.low)], self.edges[1:] - last)
        return max(int(each.max(initial=0)) for each in gaps)


def map_at(history: History, moment: int) -> MemoryMap:
    """The map at a moment. Raises: ValueError where there is no such moment.

    Blocks that lie in no segment or reach into the next block, as in a trace that contradicts
    itself, are left out or cut.
    """
    if not 0 <= moment < history.moments:
        raise ValueError(f"The moments run from 0 to {history.moments - 1}.")
    start, end = _segments(history, moment)
    edges = np.append(0, np.cumsum(end - start))
    alive = history.allocations.at(moment)
    alive = alive[np.argsort(history.allocations.address[alive])]
    low, size = history.allocations.address[alive], history.block_sizes[alive]
    segment = np.searchsorted(start, low, side="right") - 1
    inside = (segment >= 0) & (low < np.append(end, 0)[segment])
    low, size, segment = low[inside], size[inside], segment[inside]
    high = np.minimum(
        np.minimum(low + size, end[segment]), np.append(low[1:], low[-1:] + size[-1:])
    )
    shift = edges[segment] - start[segment]
    return MemoryMap(edges, low + shift, high + shift, segment)


def _segments(history: History, moment: int) -> tuple[Array, Array]:
    """The bounds of the segments, by address; adjacent pages are one."""
    ranges = history.ranges
    alive = ranges.at(moment)
    alive = alive[np.argsort(ranges.address[alive])]
    start, is_page = ranges.address[alive], alive >= history.first_page
    end = np.minimum(start + ranges.size[alive], np.append(start[1:], np.iinfo(np.int64).max))
    joined = is_page[1:] & is_page[:-1] & (start[1:] == end[:-1])
    begins = np.append(True, ~joined)[: len(start)]
    return start[begins], end[np.append(begins[1:], True)[: len(start)]]
