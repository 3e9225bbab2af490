"""The timeline: who held how much, event by event, as a picture and as a widget to zoom into."""

from collections.abc import Mapping
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from course_utils.figures import told
from course_utils.figures.style import COLOURS, INK, Picture, new_figure, one_panel, render, styled
from course_utils.memory.views.view import MemoryView
from snapshots_and_traces.snapshot_viewer.bands import Bands, bands, groups
from snapshots_and_traces.snapshot_viewer.words import shortened
from snapshots_and_traces.snapshots.lives import Array, History
from snapshots_and_traces.units import size_text, unit_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@styled
def draw_timeline(history: History, title: str = "") -> Picture:
    """Live allocations stacked over the events, coloured by kind or by who asked, and the peak.

    The line above is what the driver had given.
    """
    from matplotlib.ticker import MaxNLocator

    shown = bands(history)
    peak = size_text(int(history.live[history.peak]))
    title = title or f"{peak} were live at the peak, at event {history.peak:,}"
    figure, axes = one_panel(title, 5.4)
    scale, unit = unit_of(max(history.reserved.max(), history.live.max(), 1))
    _stack(axes, history, shown, scale)
    reserved = history.reserved[shown.moments] / scale
    axes.step(shown.moments, reserved, where="post", color=INK, linewidth=1.2, label="reserved")
    _mark_peak(axes, history, shown, scale, peak)
    said = [told.axes("events of the trace", f"{unit}, as requested")]
    said.append(told.curve("reserved", dict(zip(shown.moments, reserved, strict=True))))
    live = history.live[shown.moments] / scale
    said.append(told.curve("live", dict(zip(shown.moments, live, strict=True))))
    axes.set_xlim(shown.moments[0], max(shown.moments[-1], shown.moments[0] + 1))
    axes.set_ylim(0, 1.18 * max(reserved.max(), history.live[shown.moments].max() / scale, 1e-9))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set(xlabel="events of the trace", ylabel=f"{unit}, as requested")
    for name, most in _legend(axes, history, shown):
        said.append(f"  {name}: at most {size_text(most)}")
    return render(figure, title, said)


@styled
def draw_histories(title: str, histories: Mapping[str, History]) -> Picture:
    """A panel for each history: what was live, as an area, and what was reserved, as a line.

    `histories` maps an origin in words to each; one that begins with a kind of evidence and a
    colon ("recorded: H200") has that kind's colour. Panels have events and a unit of their own.
    Raises: ValueError without a history.
    """
    from matplotlib.ticker import MaxNLocator

    if not histories:
        raise ValueError(f"{title!r}: no history to draw")
    figure = new_figure(title, 0.7 + 1.9 * len(histories))
    panels = figure.subplots(len(histories), 1, squeeze=False)[:, 0]
    said = []
    for axes, (words, of) in zip(panels, histories.items(), strict=True):
        colour = COLOURS.get(words.partition(":")[0])
        scale, unit = unit_of(max(of.reserved.max(), 1))
        moments, live, reserved = np.arange(of.moments), of.live / scale, of.reserved / scale
        axes.fill_between(moments, live, step="post", color=colour or "#D9D9D9", linewidth=0)
        axes.step(moments, reserved, where="post", color=INK, linewidth=1.2)
        axes.set(xlim=(0, max(of.moments - 1, 1)), ylim=(0, 1.1 * reserved.max() or 1))
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_ylabel(unit)
        peaks = (size_text(int(curve.max())) for curve in (of.live, of.reserved))
        most = "live {}, reserved {} at the most".format(*peaks)
        text = f"{fill(words, 88)}\n{most}"
        axes.set_title(text, loc="left", fontsize=10.5, color=colour or "#555555")
        said.append(f"{words}: {most}, {len(moments)} events {told.digest(live, reserved)}")
    panels[-1].set_xlabel("events of the trace; area: live, line: reserved from the driver")
    return render(figure, title, said)


def _stack(axes: "Axes", history: History, shown: Bands, scale: int) -> None:
    from matplotlib.collections import PolyCollection

    x = np.append(shown.moments, shown.moments[-1] + 1).astype(float)
    edges, colours = shown.edges() / scale, [colour for _, colour in groups(history)]
    some = np.flatnonzero((edges[1:] > edges[:-1]).any(axis=1))
    spans = zip(some.tolist(), shown.first[some].tolist(), shown.last[some].tolist(), strict=True)
    outlines = [outline(x, edges[k], edges[k + 1], *span) for k, *span in spans]
    faces = [colours[group] for group in shown.group[some]]
    large = shown.size[some] > 0.012 * edges[-1].max() * scale
    lines = ["white" if seen else face for seen, face in zip(large, faces, strict=True)]
    axes.add_collection(
        PolyCollection(outlines, facecolors=faces, edgecolors=lines, linewidths=0.3)
    )


def outline(edges: Array, bottom: Array, top: Array, first: int, last: int) -> Array:
    """Corners of a band with steps: its top from left to right, its bottom back; shape (n, 2)."""
    x = np.repeat(edges[first : last + 1], 2)[1:-1]
    upper, lower = np.repeat(top[first:last], 2), np.repeat(bottom[first:last], 2)
    return np.column_stack([np.append(x, x[::-1]), np.append(upper, lower[::-1])])


def _mark_peak(axes: "Axes", history: History, shown: Bands, scale: int, peak: str) -> None:
    low, high = int(shown.moments[0]), int(shown.moments[-1])
    at, height = history.peak, history.live[history.peak] / scale
    side = "right" if at - low > (high - low) / 2 else "left"
    axes.plot([at], [height], marker="v", color=INK, markersize=8, zorder=5)
    axes.annotate(
        f"peak {peak}", (at, height), (6 if side == "left" else -6, 8),
        textcoords="offset points", ha=side, fontsize=11, fontweight="bold",
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 1}, zorder=6,
    )  # fmt: skip


def _legend(axes: "Axes", history: History, shown: Bands) -> list[tuple[str, int]]:
    """Names the groups that can be seen, and gives each with the most bytes it ever has."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    edges = shown.edges()
    heights = np.diff(edges, axis=0)
    used = set(shown.group[heights.max(axis=1) > 0.002 * edges[-1].max()].tolist())
    most, marks = [], list[Any]()
    for number, (name, colour) in enumerate(groups(history)):
        if number in used:
            marks.append(Patch(color=colour, label=shortened(name)))
            most.append((name, int(heights[shown.group == number].sum(axis=0).max())))
    marks.append(Line2D([], [], color=INK, linewidth=1.2, label="reserved from the driver"))
    axes.legend(
        handles=marks, loc="upper left", bbox_to_anchor=(0, -0.16), ncols=2, frameon=False,
        fontsize=10, handlelength=1, borderaxespad=0,
    )  # fmt: skip
    return most


class MemoryTimeline(MemoryView):
    """Drag over a part of the curve to zoom into it; a click says what happened there."""

    view, height = "timeline", 560

    def _still(self) -> Picture:
        return draw_timeline(self.history)
