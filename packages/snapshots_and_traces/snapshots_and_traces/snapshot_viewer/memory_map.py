"""The bytes of a device by address at any moment: what the map of segments shows.

All addresses that the driver ever gave lie end to end, cut into cells of equal bytes in rows, so
that a byte keeps its place while time moves. Of each cell is known, exactly, how much of it is
handed out, free in a segment that is in use, and free in a segment that could be given back.
"""

from dataclasses import dataclass

import numpy as np

from snapshots_and_traces.snapshots.lives import Array, History

ROWS, CELLS = 32, 240
KINDS = ("handed out", "free, in a segment in use", "free, whole segment")


@dataclass(frozen=True)
class Cells:
    """The map at one moment: `n_bytes` of each kind in each cell, shape (3, rows · cells).

    `segments` says where each segment begins, in bytes of the map; `largest_free` is the largest
    block that the allocator could hand out without asking the driver, in bytes.
    """

    moment: int
    n_bytes: Array
    segments: Array
    largest_free: int

    @property
    def bytes_by_kind(self) -> dict[str, int]:
        return dict(zip(KINDS, self.n_bytes.sum(axis=1).round().astype(int).tolist(), strict=True))

    @property
    def reserved(self) -> int:
        return sum(self.bytes_by_kind.values())


class MemoryMap:
    """Lays a history's addresses end to end and shows any moment of them."""

    def __init__(self, history: History, rows: int = ROWS, cells: int = CELLS) -> None:
        self.history, self.shape = history, (rows, cells)
        lives = history.ranges
        order = np.argsort(lives.address, kind="stable")
        start, end = lives.address[order], (lives.address + lives.size)[order]
        reach = np.maximum.accumulate(end) if len(end) else end
        opens = np.flatnonzero(np.append(True, start[1:] > reach[:-1])) if len(start) else start
        self.starts = start[opens]
        self.lengths = np.append(reach[opens[1:] - 1], reach[-1:]) - self.starts
        self.before = np.append(0, np.cumsum(self.lengths))
        self.total = int(self.before[-1])
        self.cell_bytes = max(self.total / (rows * cells), 1)

    def place(self, address: Array) -> Array:
        """Where addresses lie on the map, in bytes from its beginning."""
        run = np.clip(np.searchsorted(self.starts, address, side="right") - 1, 0, None)
        return self.before[run] + address - self.starts[run]

    def has(self, address: Array) -> Array:
        """Which addresses the driver ever gave."""
        run = np.searchsorted(self.starts, address, side="right") - 1
        found = run >= 0
        found[found] = address[found] < (self.starts + self.lengths)[run[found]]
        return found

    def at(self, moment: int) -> Cells:
        """The map at a moment. Raises: ValueError where there is no such moment."""
        if not 0 <= moment < self.history.moments:
            raise ValueError(f"The moments run from 0 to {self.history.moments - 1}.")
        start, size, begins = self._ranges(moment)
        ends = (start + size)[np.append(begins[1:], True)[: len(start)]]
        low, high = self._blocks(moment, start[begins], ends)
        used = _covered(start + size, low, high) - _covered(start, low, high)
        empty = used < 1
        reserved, active = self._cover(start, start + size), self._cover(low, high)
        whole = self._cover(start[empty], (start + size)[empty])
        free = np.maximum(reserved - active - whole, 0)
        largest = _largest_gap(start[begins], ends, low, high)
        return Cells(moment, np.vstack([active, free, whole]), start[begins], largest)

    def _ranges(self, moment: int) -> tuple[Array, Array, Array]:
        """Where the driver's ranges begin, their sizes, and whether one begins a segment."""
        lives = self.history.ranges
        alive = lives.at(moment)
        alive = alive[np.argsort(lives.address[alive])]
        start, size, page = (
            lives.address[alive],
            lives.size[alive],
            alive >= self.history.first_page,
        )
        size = np.minimum(size, np.append(np.diff(start), size[-1:]))  # none reaches into the next
        goes_on = page[1:] & page[:-1] & (start[1:] == (start + size)[:-1])
        return self.place(start), size, np.append(True, ~goes_on)[: len(start)]

    def _blocks(self, moment: int, starts: Array, ends: Array) -> tuple[Array, Array]:
        """Where the live blocks begin and end: within a segment, none reaching into the next.

        A trace that contradicts itself has others too; they are left out.
        """
        alive = self.history.allocations.at(moment)
        alive = alive[self.has(self.history.allocations.address[alive])]
        low = self.place(self.history.allocations.address[alive])
        order = np.argsort(low)
        low, high = low[order], (low + self.history.block_sizes[alive])[order]
        segment = np.searchsorted(starts, low, side="right") - 1
        inside = segment >= 0
        inside[inside] = low[inside] < ends[segment[inside]]
        low, high, segment = low[inside], high[inside], segment[inside]
        return low, np.minimum(high, np.minimum(np.append(low[1:], self.total), ends[segment]))

    def _cover(self, low: Array, high: Array) -> Array:
        """How many bytes of each cell lie in these spans."""
        edges = np.arange(self.shape[0] * self.shape[1] + 1) * self.cell_bytes
        return np.diff(_covered(edges, low, high))


def _covered(places: Array, low: Array, high: Array) -> Array:
    """How many bytes before each place lie in these spans, which are sorted and don't overlap."""
    if not len(low):
        return np.zeros(len(places))
    points = np.column_stack([low, high]).ravel()
    inside = np.column_stack([np.zeros_like(low), high - low]).ravel().cumsum()
    return np.interp(places, points, inside)


def _largest_gap(start: Array, end: Array, low: Array, high: Array) -> int:
    """The most bytes in a row that lie in one segment and in no block."""
    points = np.sort(np.concatenate([start, end, low, high]))
    middle = (points[:-1] + points[1:]) / 2

    def inside(begin: Array, finish: Array) -> Array:
        begun = np.searchsorted(begin, middle, side="right")
        return begun > np.searchsorted(finish, middle, side="right")

    gaps = np.diff(points)[inside(start, end) & ~inside(low, high)]
    return int(gaps.max()) if len(gaps) else 0
