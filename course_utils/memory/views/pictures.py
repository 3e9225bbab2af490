"""A memory history in pictures and widgets: its timeline, and the map of its segments."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from textwrap import fill
from typing import Any

import numpy as np

from course_utils.figures import alt_text, style
from snapshots_and_traces.offline.columns import packed
from snapshots_and_traces.offline.page import OfflinePage
from snapshots_and_traces.snapshot_viewer.data import content_of
from snapshots_and_traces.snapshot_viewer.groups import group_of_site, groups
from snapshots_and_traces.snapshot_viewer.memory_map import MemoryMap, map_at
from snapshots_and_traces.snapshot_viewer.page import SnapshotPage
from snapshots_and_traces.snapshots.lives import Array, History, history
from snapshots_and_traces.snapshots.snapshot import Snapshot
from snapshots_and_traces.units import shortened, size_text, unit_of


class MemoryView(SnapshotPage):
    """The part `view` of the page, of a snapshot or of one device's history."""

    view = "whole"

    def __init__(self, snapshot: Snapshot | History, title: str = "") -> None:
        self.title = title  # of the still picture; what it shows in words unless given
        self.history = snapshot if isinstance(snapshot, History) else history(snapshot)
        self.words, columns = content_of(self.history)
        self.words["view"] = self.view
        OfflinePage.__init__(self, self.history.name, packed(self.words, columns))

    def _still(self) -> style.Picture:
        """The view as it begins."""
        raise NotImplementedError

    def stored(self) -> dict[str, str]:
        picture = self._still()
        return picture.bundle(f"[widget] {picture.alt}")


COLUMNS = 600
PASS = "#E3E9F0"
PASS_TEXT = {"ha": "center", "va": "top", "fontsize": 10}


@style.styled
def draw_timeline(
    history: History, title: str = "", passes: Sequence[tuple[str, int, int]] = ()
) -> style.Picture:
    """Draws requested bytes stacked over the events, by kind or by the line that asked.

    The line above is what was reserved; a mark is the peak. `passes` are shaded and named: each
    has a name, its first moment, and the moment after its last. A history whose name begins with
    a kind of evidence and a colon ("recorded: H200") has its name below the title, in that colour.
    """
    from matplotlib.ticker import MaxNLocator

    moments, held = stacked(history)
    peak = size_text(int(history.live[history.peak]))
    title = title or f"{peak} were live at the peak, at event {history.peak:,}"
    figure, axes = style.one_panel(title, 5.4)
    scale, unit = unit_of(max(history.reserved.max(), history.live.max(), 1))
    live, reserved = history.live[moments] / scale, history.reserved[moments] / scale
    names, colours = zip(*groups(history), strict=True)
    axes.stackplot(moments, held / scale, step="post", colors=colours, linewidth=0)
    axes.step(moments, reserved, where="post", color=style.INK, linewidth=1.2)
    _mark_peak(axes, history, scale, peak)
    said = [alt_text.axes("events of the trace", unit)]
    for name, start, end in passes:
        axes.axvspan(start, end, color=PASS, alpha=0.5 if name == "backward" else 1, zorder=0)
        axes.text((start + end) / 2, 0.985, name, PASS_TEXT, transform=axes.get_xaxis_transform())
        said.append(f"{name}: events {start:,} to {end - 1:,}")
    if colour := style.COLOURS.get(history.name.partition(":")[0]):
        axes.set_title(history.name, loc="left", fontsize=10.5, color=colour)
        said.insert(0, history.name)
    said.append(alt_text.curve("reserved", dict(zip(moments, reserved, strict=True))))
    said.append(alt_text.curve("requested", dict(zip(moments, live, strict=True))))
    axes.set_xlim(0, max(history.moments - 1, 1))
    axes.set_ylim(0, (1.3 if passes else 1.18) * max(reserved.max(), live.max(), 1e-9))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set(xlabel="events of the trace", ylabel=f"{unit}; areas: requested")
    most = dict(zip(names, held.max(axis=1).tolist(), strict=True))
    seen = [name for name in names if name and most[name] > 0.002 * history.live.max()]
    _legend(axes, {name: colours[names.index(name)] for name in seen})
    said += (f"  {name}: at most {size_text(most[name])}" for name in seen)
    return style.render(figure, title, said)


def stacked(history: History, columns: int = COLUMNS) -> tuple[Array, Array]:
    """Moments, and the bytes of each group at each of them, shape (groups, moments).

    At most `columns` moments: of each stretch the one at which most was live, so that no peak is
    lost.
    """
    starts = np.unique(np.linspace(0, history.moments, columns + 1).astype(np.int64))
    stretches = pairwise(starts.tolist())
    moments = np.array([start + history.live[start:end].argmax() for start, end in stretches])
    lives, group = history.allocations, group_of_site(history)[history.sites]
    shape = len(groups(history)), len(moments) + 1
    change = np.zeros(shape, np.int64)
    np.add.at(change, (group, np.searchsorted(moments, lives.birth)), lives.size)
    np.subtract.at(change, (group, np.searchsorted(moments, lives.death)), lives.size)
    return moments, np.cumsum(change, axis=1)[:, :-1]


@style.styled
def draw_histories(title: str, histories: Mapping[str, History]) -> style.Picture:
    """A panel for each history: what was live, as an area, and what was reserved, as a line.

    `histories` maps an origin in words to each; one that begins with a kind of evidence and a
    colon ("recorded: H200") has that kind's colour. Panels share the scale of their bytes.
    """
    from matplotlib.ticker import MaxNLocator

    figure = style.new_figure(title, 0.7 + 1.9 * len(histories))
    panels = figure.subplots(len(histories), 1, squeeze=False)[:, 0]
    said = []
    most_reserved = max(max(of.reserved.max(), 1) for of in histories.values())
    scale, unit = unit_of(most_reserved)
    for axes, (words, of) in zip(panels, histories.items(), strict=True):
        colour = style.COLOURS.get(words.partition(":")[0])
        moments, live, reserved = np.arange(of.moments), of.live / scale, of.reserved / scale
        axes.fill_between(moments, live, step="post", color=colour or "#D9D9D9", linewidth=0)
        axes.step(moments, reserved, where="post", color=style.INK, linewidth=1.2)
        axes.set(xlim=(0, max(of.moments - 1, 1)), ylim=(0, 1.1 * most_reserved / scale))
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_ylabel(unit)
        peaks = (size_text(int(curve.max())) for curve in (of.live, of.reserved))
        most = "at most {} requested, {} reserved".format(*peaks)
        text = f"{fill(words, 88)}\n{most}"
        axes.set_title(text, loc="left", fontsize=10.5, color=colour or "#555555")
        said.append(f"{words}: {most}, {len(moments)} events {alt_text.digest(live, reserved)}")
    panels[-1].set_xlabel("events of the trace; area: requested, line: reserved")
    return style.render(figure, title, said)


def _mark_peak(axes: "style.Axes", history: History, scale: int, peak: str) -> None:
    """Marks the peak; its words are above the line of what was reserved."""
    from matplotlib.markers import CARETDOWN  # its tip is at the point

    at, height = history.peak, history.live[history.peak] / scale
    side = "right" if at > history.moments / 2 else "left"
    top = max(history.reserved.max() / scale, height)
    axes.plot([at], [height], marker=CARETDOWN, color=style.INK, markersize=8, zorder=5)
    axes.vlines(at, height, top, color=style.INK, linestyle=":", linewidth=1.2, zorder=5)
    axes.annotate(
        f"peak {peak}", (at, top), (6 if side == "left" else -6, 8),
        textcoords="offset points", ha=side, fontsize=11, fontweight="bold", zorder=6,
    )  # fmt: skip


def _legend(axes: "style.Axes", colours: dict[str, str]) -> None:
    """Names the groups that can be seen, and the line."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    marks: list[Any] = [Patch(color=one, label=shortened(name)) for name, one in colours.items()]
    marks.append(Line2D([], [], color=style.INK, linewidth=1.2, label="reserved"))
    axes.legend(
        handles=marks, loc="upper left", bbox_to_anchor=(0, -0.16), ncols=2, frameon=False,
        fontsize=10, handlelength=1, borderaxespad=0,
    )  # fmt: skip


class MemoryTimeline(MemoryView):
    """Drag over a part of the curve to zoom into it; a click says what happened there."""

    view, height = "timeline", 560

    def _still(self) -> style.Picture:
        return draw_timeline(self.history, self.title)


# ---- The map of segments: what is allocated and what is free, at any moment, by address.

MOST_SEGMENTS = 24
ALLOCATED, HOLE, WHOLE, WANTED = "#4A5A70", "#E3E6EA", "#FFFFFF", "#C0392B"
WORDS = {
    ALLOCATED: "allocated",
    HOLE: "free, in a segment that is partly in use",
    WHOLE: "free, a whole segment",
}


@style.styled
def draw_segments(history: History, title: str = "") -> style.Picture:
    """Draws a row for each segment at the peak, the largest first: its blocks, and what is free."""
    return draw_map(map_at(history, history.peak), title, f"after event {history.peak:,}")


@style.styled
def draw_map(shown: MemoryMap, title: str = "", when: str = "", wanted: int = 0) -> style.Picture:
    """Draws a row for each segment, the largest first: its blocks, and what is free.

    At most `MOST_SEGMENTS` rows; the text says how many are left out. A last row has the block
    that is `wanted`, where one is.
    """
    from matplotlib.patches import Patch

    sizes = np.diff(shown.edges)
    order = np.lexsort((np.arange(len(sizes)), -sizes))[:MOST_SEGMENTS]
    rows, colours = len(order) + bool(wanted), dict(WORDS)
    figure, axes = style.one_panel(title or map_text(shown), 1.6 + 0.2 * max(rows, 4))
    scale, unit = unit_of(max(sizes.max(initial=0), 1))
    for row, segment in enumerate(order.tolist()):
        _draw_row(axes, row, shown, segment, scale)
    if wanted:
        axes.barh(rows - 1, wanted / scale, height=0.78, color=WANTED, linewidth=0)
        colours = {WANTED: f"wanted: {size_text(wanted)}"} | colours
        colours = {c: name for c, name in colours.items() if c != WHOLE or shown.empty.any()}
    axes.set(ylim=(rows - 0.4, -0.6), xlim=(0, max(sizes.max(initial=0), 1) / scale))
    axes.set(xlabel=f"{unit} from the beginning of each segment", yticks=[])
    axes.set_ylabel(f"{len(order)} of {len(sizes)} segments")
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(False)
    if title:
        axes.set_title(map_text(shown), loc="left", fontsize=10.5, color="#555555")
    marks = [Patch(facecolor=c, edgecolor=style.INK, label=name) for c, name in colours.items()]
    figure.legend(
        handles=marks, loc="outside lower left", ncols=3, frameon=False, fontsize=10.5,
        handlelength=1,
    )  # fmt: skip
    kinds = zip(WORDS.values(), shown.bytes_by_kind.values(), strict=True)
    digest = alt_text.digest(shown.edges, shown.low, shown.high)
    said = ["; ".join(filter(None, (map_text(shown), when))) + f" {digest}"]
    said += [f"  {kind}: {size_text(size)}" for kind, size in kinds]
    said += [f"  wanted: {size_text(wanted)}"] if wanted else []
    return style.render(figure, title or map_text(shown), said)


def _draw_row(axes: "style.Axes", row: int, shown: MemoryMap, segment: int, scale: int) -> None:
    """Draws a segment's border, its blocks, and its free bytes."""
    begin, end = shown.edges[segment : segment + 2]
    inside = shown.segment == segment
    free = HOLE if inside.any() else WHOLE
    axes.barh(
        row, (end - begin) / scale, height=0.78, color=free, edgecolor=style.INK, linewidth=0.9
    )
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
    """Move the slider, and see blocks come and go; a click shows a block's call stack."""

    view, height = "map", 420

    def _still(self) -> style.Picture:
        return draw_segments(self.history, self.title)
