"""The map of segments: what is handed out and what lies free, at any moment, by address."""

import numpy as np

from course_utils.figures import alt_text
from course_utils.figures.style import Picture, one_panel, render, styled
from course_utils.memory.views.view import MemoryView
from snapshots_and_traces.snapshot_viewer.memory_map import KINDS, MemoryMap, map_at
from snapshots_and_traces.snapshots.lives import Array, History
from snapshots_and_traces.traces.intervals import covered
from snapshots_and_traces.units import size_text

ROWS, CELLS = 32, 240
COLOURS = ("#009E73", "#F0E442", "#CFE8F7")
PAPER = "#FFFFFF"


@styled
def draw_segments(history: History) -> Picture:
    """The map of all segments at the peak: what is handed out, what lies free between, what could
    be given back.
    """
    from matplotlib.patches import Patch

    shown = map_at(history, history.peak)
    title = map_text(shown)
    figure, axes = one_panel(title, 5.0)
    cells = mixed(shown)
    axes.imshow(cells, aspect="auto", interpolation="nearest")
    axes.set_yticks(np.arange(-0.5, ROWS), [])
    axes.grid(axis="y", color=PAPER, linewidth=2)
    axes.tick_params(length=0)
    axes.set_xticks([])
    row = size_text(shown.reserved / ROWS)
    addresses = f"addresses, {row} a row; after event {history.peak:,}"
    axes.set_xlabel(addresses)
    for side in axes.spines.values():
        side.set_visible(False)
    marks = [Patch(color=c, label=name) for c, name in zip(COLOURS, KINDS, strict=True)]
    axes.legend(
        handles=marks, loc="upper left", bbox_to_anchor=(0, -0.1), ncols=3, frameon=False,
        fontsize=11, handlelength=1, borderaxespad=0,
    )  # fmt: skip
    kinds = (f"  {kind}: {size_text(size)}" for kind, size in shown.bytes_by_kind.items())
    return render(figure, title, [f"{addresses} {alt_text.digest(cells)}", *kinds])


def map_text(shown: MemoryMap) -> str:
    """How many of the reserved bytes are handed out, and the largest free block."""
    active, *_ = shown.bytes_by_kind.values()
    share = active / shown.reserved if shown.reserved else 0
    return (
        f"{size_text(active)} of {size_text(shown.reserved)} reserved are handed out "
        f"({share:.0%}); the largest free block has {size_text(shown.largest_free)}"
    )


def mixed(shown: MemoryMap) -> Array:
    """The colour of each cell, mixed from those of its bytes: red, green and blue from 0 to 1,
    shape (rows, cells, 3). White where nothing is reserved.
    """
    from matplotlib.colors import to_rgb

    if not shown.reserved:
        return np.ones((ROWS, CELLS, 3))
    edges = np.linspace(0, shown.reserved, ROWS * CELLS + 1)
    cells, segments = (np.column_stack([each[:-1], each[1:]]) for each in (edges, shown.edges))
    blocks = np.column_stack([shown.low, shown.high])
    used, whole = (covered(of, cells) / edges[1] for of in (blocks, segments[shown.empty]))
    share = np.clip([used, 1 - used - whole, whole], 0, 1)
    colours = share.T @ np.array([to_rgb(colour) for colour in COLOURS])
    return np.clip(colours, 0, 1).reshape(ROWS, CELLS, 3)


class SegmentsMap(MemoryView):
    """Move the slider, and see blocks come and go; a click says who asked for one."""

    view, height = "map", 420

    def _still(self) -> Picture:
        return draw_segments(self.history)
