"""The map of segments: what is handed out and what lies free, at any moment, by address.

All addresses that the driver ever gave lie end to end, cut into cells of equal bytes in rows, so
that a byte keeps its place while time moves. Of each cell is known, exactly, how much of it is
handed out, free in a segment that is in use, and free in a segment that could be given back.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from course_utils.figures.style import Picture, one_panel, render, styled
from course_utils.memory.snapshots.lives import Array, History
from course_utils.memory.views.view import MemoryView, script
from course_utils.memory.views.words import allocation_lines, moment_text, size_text

ROWS, CELLS = 32, 240
KINDS = ("handed out", "free, in a segment in use", "free, whole segment")
COLOURS = ("#009E73", "#F0E442", "#CFE8F7")
PAPER = "#FFFFFF"
MOST_MARKS = 4000


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

    def find(self, moment: int, cell: int) -> tuple[int, int]:
        """The segment and the allocation at the middle of a cell: places in `history`, or -1."""
        place, found = (cell + 0.5) * self.cell_bytes, []
        for lives, size in (
            (self.history.ranges, self.history.ranges.size),
            (self.history.allocations, self.history.block_sizes),
        ):
            alive = lives.at(moment)
            alive = alive[self.has(lives.address[alive])]
            low = self.place(lives.address[alive])
            inside = np.flatnonzero((low <= place) & (place < low + size[alive]))
            found.append(int(alive[inside[0]]) if len(inside) else -1)
        return found[0], found[1]

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


@styled
def draw_segments(history: History) -> Picture:
    """The map of all segments at the peak: what is handed out, what lies free between, what could
    be given back.
    """
    from matplotlib.patches import Patch

    layout = MemoryMap(history)
    shown = layout.at(history.peak)
    title = map_text(shown)
    figure, axes = one_panel(title, 5.0)
    axes.imshow(mixed(layout, shown), aspect="auto", interpolation="nearest")
    axes.set_yticks(np.arange(-0.5, layout.shape[0]), [])
    axes.grid(axis="y", color=PAPER, linewidth=2)
    axes.tick_params(length=0)
    axes.set_xticks([])
    row = size_text(layout.cell_bytes * layout.shape[1])
    axes.set_xlabel(f"addresses, {row} a row; {moment_text(history, history.peak)}")
    for side in axes.spines.values():
        side.set_visible(False)
    marks = [Patch(color=c, label=name) for c, name in zip(COLOURS, KINDS, strict=True)]
    axes.legend(
        handles=marks, loc="upper left", bbox_to_anchor=(0, -0.1), ncols=3, frameon=False,
        fontsize=11, handlelength=1, borderaxespad=0,
    )  # fmt: skip
    return render(figure, title, live=False)


def map_text(shown: Cells) -> str:
    """How many of the reserved bytes are handed out, and the largest free block."""
    active, *_ = shown.bytes_by_kind.values()
    share = active / shown.reserved if shown.reserved else 0
    return (
        f"{size_text(active)} of {size_text(shown.reserved)} reserved are handed out "
        f"({share:.0%}); the largest free block has {size_text(shown.largest_free)}"
    )


def mixed(layout: MemoryMap, shown: Cells) -> Array:
    """The colour of each cell, mixed from those of its bytes: red, green, blue and opacity from 0
    to 1, shape (rows, cells, 4).
    """
    from matplotlib.colors import to_rgb

    share = np.clip(shown.n_bytes / layout.cell_bytes, 0, 1)
    filled = np.clip(share.sum(axis=0), 0, 1)
    colours = share.T @ np.array([to_rgb(colour) for colour in COLOURS])
    colours /= np.maximum(share.sum(axis=0), 1e-12)[:, None]
    return np.column_stack([np.clip(colours, 0, 1), filled]).reshape(*layout.shape, 4)


class SegmentsMap(MemoryView):
    """Move the slider, and see blocks come and go; point at a place to learn what lies there."""

    _esm = script("segments_map.js")

    def _begin(self) -> None:
        self.layout_of = MemoryMap(self.history)
        self.do_go(self.history.peak)

    def do_go(self, moment: int) -> None:
        """Shows a moment."""
        self.shown = self.layout_of.at(int(moment))
        self.picked = []

    def do_look(self, cell: int) -> None:
        """Says what lies at a cell; -1 for none."""
        if cell < 0:
            self.picked = []
            return
        segment, block = self.layout_of.find(self.shown.moment, cell)
        if segment < 0:
            self.picked = ["the driver has these addresses back, or never gave them yet"]
            return
        lives = self.history.ranges
        kind = "pages" if segment >= self.history.first_page else "a segment"
        where = f"in {kind} of {size_text(int(lives.size[segment]))}"
        where += f" at {int(lives.address[segment]):#x}"
        lines = allocation_lines(self.history, block) if block >= 0 else ["free"]
        self.picked = [*lines[:1], where, *lines[1:]]

    def _words(self) -> dict[str, Any]:
        rows, cells = self.layout_of.shape
        return {
            "rows": rows,
            "cells": cells,
            "last": self.history.moments - 1,
            "peak": self.history.peak,
            "moment": self.shown.moment,
            "event": moment_text(self.history, self.shown.moment),
            "reading": map_text(self.shown),
            "row_text": f"{size_text(self.layout_of.cell_bytes * cells)} a row",
            "kinds": [
                [name, colour, size_text(size)]
                for (name, size), colour in zip(
                    self.shown.bytes_by_kind.items(), COLOURS, strict=True
                )
            ],
        }

    def _numbers(self) -> bytes:
        """The colours of the cells, four bytes each, then where segments begin, in cells."""
        colours = (mixed(self.layout_of, self.shown) * 255).round().astype(np.uint8)
        marks = self.shown.segments[:MOST_MARKS] / self.layout_of.cell_bytes
        return colours.tobytes() + marks.astype("<f4").tobytes()

    def _still(self) -> Picture:
        return draw_segments(self.history)
