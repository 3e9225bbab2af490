"""The map of segments: what is allocated and what is free, at any moment, by address."""

from typing import TYPE_CHECKING

import numpy as np

from course_utils.figures import alt_text
from course_utils.figures.style import INK, Picture, one_panel, render, styled
from course_utils.memory.views.view import MemoryView
from snapshots_and_traces.snapshot_viewer.memory_map import MemoryMap, map_at
from snapshots_and_traces.snapshots.lives import History
from snapshots_and_traces.units import size_text, unit_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_SEGMENTS = 24
ALLOCATED, HOLE, WHOLE = "#4A5A70", "#E3E6EA", "#FFFFFF"
WORDS = {
    ALLOCATED: "allocated",
    HOLE: "free, in a segment that is partly in use",
    WHOLE: "free, a whole segment",
}


@styled
def draw_segments(history: History, title: str = "") -> Picture:
    """Draws a row for each segment at the peak, the largest first: its blocks, and what is free.

    At most `MOST_SEGMENTS` rows; the text says how many are left out.
    """
    from matplotlib.patches import Patch

    shown = map_at(history, history.peak)
    sizes = np.diff(shown.edges)
    order = np.lexsort((np.arange(len(sizes)), -sizes))[:MOST_SEGMENTS]
    figure, axes = one_panel(title or map_text(shown), 1.6 + 0.2 * max(len(order), 4))
    scale, unit = unit_of(max(sizes.max(initial=0), 1))
    for row, segment in enumerate(order.tolist()):
        _draw_row(axes, row, shown, segment, scale)
    axes.set(ylim=(len(order) - 0.4, -0.6), xlim=(0, max(sizes.max(initial=0), 1) / scale))
    axes.set(xlabel=f"{unit} from the beginning of each segment", yticks=[])
    axes.set_ylabel(f"{len(order)} of {len(sizes)} segments")
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(False)
    if title:
        axes.set_title(map_text(shown), loc="left", fontsize=10.5, color="#555555")
    marks = [Patch(facecolor=c, edgecolor=INK, label=name) for c, name in WORDS.items()]
    figure.legend(
        handles=marks, loc="outside lower left", ncols=3, frameon=False, fontsize=10.5,
        handlelength=1,
    )  # fmt: skip
    kinds = zip(WORDS.values(), shown.bytes_by_kind.values(), strict=True)
    digest = alt_text.digest(shown.edges, shown.low, shown.high)
    said = [f"{map_text(shown)}; after event {history.peak:,} {digest}"]
    said += [f"  {kind}: {size_text(size)}" for kind, size in kinds]
    return render(figure, title or map_text(shown), said)


def _draw_row(axes: "Axes", row: int, shown: MemoryMap, segment: int, scale: int) -> None:
    """Draws a segment's border, its blocks, and its free bytes."""
    begin, end = shown.edges[segment : segment + 2]
    inside = shown.segment == segment
    free = HOLE if inside.any() else WHOLE
    axes.barh(row, (end - begin) / scale, height=0.78, color=free, edgecolor=INK, linewidth=0.9)
    low, size = shown.low[inside] - begin, shown.high[inside] - shown.low[inside]
    axes.barh(
        np.full(len(low), row), size / scale, left=low / scale, height=0.78, color=ALLOCATED,
        edgecolor="white", linewidth=0.4,
    )  # fmt: skip


def map_text(shown: MemoryMap) -> str:
    """Returns in words how many of the reserved bytes are allocated, and the largest free block."""
    allocated, *_ = shown.bytes_by_kind.values()
    share = allocated / shown.reserved if shown.reserved else 0
    return (
        f"{size_text(allocated)} of {size_text(shown.reserved)} reserved are allocated "
        f"({share:.0%}); the largest free block has {size_text(shown.largest_free)}"
    )


class SegmentsMap(MemoryView):
    """Move the slider, and see blocks come and go; a click says who asked for one."""

    view, height = "map", 420

    def _still(self) -> Picture:
        return draw_segments(self.history, self.title)
