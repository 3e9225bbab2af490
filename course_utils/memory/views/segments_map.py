"""The map of segments: what is handed out and what lies free, at any moment, by address."""

from typing import Any

import numpy as np

from course_utils.figures import told
from course_utils.figures.style import Picture, one_panel, render, styled
from course_utils.memory.views.view import MemoryView, script
from snapshots_and_traces.snapshot_viewer.memory_map import KINDS, Cells, MemoryMap
from snapshots_and_traces.snapshot_viewer.words import allocation_lines, moment_text
from snapshots_and_traces.snapshots.lives import Array, History
from snapshots_and_traces.units import size_text

COLOURS = ("#009E73", "#F0E442", "#CFE8F7")
PAPER = "#FFFFFF"
MOST_MARKS = 4000


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
    cells = mixed(layout, shown)
    axes.imshow(cells, aspect="auto", interpolation="nearest")
    axes.set_yticks(np.arange(-0.5, layout.shape[0]), [])
    axes.grid(axis="y", color=PAPER, linewidth=2)
    axes.tick_params(length=0)
    axes.set_xticks([])
    row = size_text(layout.cell_bytes * layout.shape[1])
    addresses = f"addresses, {row} a row; {moment_text(history, history.peak)}"
    axes.set_xlabel(addresses)
    for side in axes.spines.values():
        side.set_visible(False)
    marks = [Patch(color=c, label=name) for c, name in zip(COLOURS, KINDS, strict=True)]
    axes.legend(
        handles=marks, loc="upper left", bbox_to_anchor=(0, -0.1), ncols=3, frameon=False,
        fontsize=11, handlelength=1, borderaxespad=0,
    )  # fmt: skip
    kinds = (f"  {kind}: {size_text(size)}" for kind, size in shown.bytes_by_kind.items())
    return render(figure, title, [f"{addresses} {told.digest(cells)}", *kinds])


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
