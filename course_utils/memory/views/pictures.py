"""The map of segments, the peak as an icicle and a table of allocations, as pictures and text."""

from typing import TYPE_CHECKING

import numpy as np

from course_utils.figures.byte_bars import PARTS
from course_utils.figures.style import INK, KINDS, OTHER_KINDS, Picture, new_figure, render, styled
from course_utils.figures.tables import table
from course_utils.memory.snapshots.lives import Array, History
from course_utils.memory.views.bands import BEFORE_COLOUR
from course_utils.memory.views.segments import KINDS as BYTES_OF
from course_utils.memory.views.segments import MemoryMap, Moment
from course_utils.memory.views.tree import largest, never_freed, tree
from course_utils.memory.views.words import life_text, moment_text, shortened, size_text

if TYPE_CHECKING:
    from IPython.display import HTML

MAP_COLOURS = ("#009E73", "#F0E442", "#CFE8F7")
PAPER = "#FFFFFF"
ICICLE_COLOURS = (*OTHER_KINDS, "#F0E442")
DEEPEST_SHOWN = 14
WHICH = {"largest": largest, "never freed": never_freed}


@styled
def draw_segments(history: History, moment: int | None = None, title: str = "") -> Picture:
    """The map of all segments at a moment (without one, at the peak): what is handed out, what
    lies free between, what could be given back. Raises: ValueError for no such moment.
    """
    from matplotlib.patches import Patch

    moment = history.peak if moment is None else moment
    layout = MemoryMap(history)
    shown = layout.at(moment)
    title = title or map_text(shown)
    figure = new_figure(title, 5.0)
    axes = figure.subplots()
    axes.imshow(mixed(layout, shown), aspect="auto", interpolation="nearest")
    axes.set_yticks(np.arange(-0.5, layout.shape[0]), [])
    axes.grid(axis="y", color=PAPER, linewidth=2)
    axes.tick_params(length=0)
    axes.set_xticks([])
    row = size_text(layout.cell_bytes * layout.shape[1])
    axes.set_xlabel(f"addresses, {row} a row; {moment_text(history, moment)}")
    for side in axes.spines.values():
        side.set_visible(False)
    marks = [Patch(color=c, label=name) for c, name in zip(MAP_COLOURS, BYTES_OF, strict=True)]
    axes.legend(
        handles=marks, loc="upper left", bbox_to_anchor=(0, -0.1), ncols=3, frameon=False,
        fontsize=11, handlelength=1, borderaxespad=0,
    )  # fmt: skip
    return render(figure, title)


def map_text(shown: Moment) -> str:
    """How many of the reserved bytes are handed out, and the largest free block."""
    active, *_ = shown.bytes_by_kind.values()
    share = active / shown.reserved if shown.reserved else 0
    return (
        f"{size_text(active)} of {size_text(shown.reserved)} reserved are handed out "
        f"({share:.0%}); the largest free block has {size_text(shown.largest_free)}"
    )


def mixed(layout: MemoryMap, shown: Moment) -> Array:
    """Each cell's colour, of its kinds of bytes; red, green, blue and opacity from 0 to 1, shape
    (rows, cells, 4)."""
    share = np.clip(shown.cells / layout.cell_bytes, 0, 1)
    filled = np.clip(share.sum(axis=0), 0, 1)
    colours = share.T @ np.array([_rgb(colour) for colour in MAP_COLOURS])
    colours /= np.maximum(share.sum(axis=0), 1e-12)[:, None]
    return np.column_stack([np.clip(colours, 0, 1), filled]).reshape(*layout.shape, 4)


def _rgb(colour: str) -> Array:
    return np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])


@styled
def draw_peak(history: History, moment: int | None = None, title: str = "") -> Picture:
    """The call stacks of what is live at a moment (without one, at the peak), as an icicle: each
    function as wide as the bytes that it and what it called asked for.
    """
    moment = history.peak if moment is None else moment
    root = tree(history, moment)
    nodes = [(n, d, left) for n, d, left in root.walk() if d <= DEEPEST_SHOWN]
    depth = max(d for _, d, _ in nodes) + 1
    title = title or f"Who held the {size_text(root.size)} that were live {_when(history, moment)}"
    figure = new_figure(title, 1.2 + 0.36 * depth)
    axes = figure.subplots()
    total = max(root.size, 1)
    for node, level, left in nodes:
        colour = BEFORE_COLOUR if level == 0 else colour_of(node.name)
        axes.barh(
            level, node.size / total, left=left / total, height=0.94, color=colour,
            edgecolor="white", linewidth=0.7,
        )  # fmt: skip
        room = int(node.size / total * 95)
        if room > 5:
            text = shortened(f"{node.name} · {size_text(node.size)}", room)
            axes.text(left / total + 0.004, level, text, va="center", fontsize=9, color=INK)
    axes.set_ylim(depth - 0.4, -0.6)
    axes.set_xlim(0, 1)
    axes.set_axis_off()
    return render(figure, title)


def _when(history: History, moment: int) -> str:
    return "at the peak" if moment == history.peak else moment_text(history, moment)


def colour_of(name: str) -> str:
    """A kind of bytes has its own colour; another name one that is the same in every run."""
    return PARTS.get(name) or ICICLE_COLOURS[sum(name.encode()) % len(ICICLE_COLOURS)]


def allocation_rows(
    history: History, which: str = "largest", count: int = 12
) -> list[dict[str, str]]:
    """Rows of a table of the `largest` allocations or of those `never freed`.

    Raises: ValueError for another word.
    """
    if which not in WHICH:
        raise ValueError(f"The table shows {' or '.join(WHICH)}, not {which!r}.")
    lives = history.allocations
    return [
        {
            "size": size_text(int(lives.size[place])),
            "lives": life_text(history, place),
            "who asked": history.site_names[history.sites[place]],
        }
        for place in WHICH[which](history, count)
    ]


def allocation_table(history: History, which: str = "largest", count: int = 12) -> "HTML":
    """The table as HTML. Raises: ValueError, as `allocation_rows` has."""
    return table(f"{history.name}: {which}", allocation_rows(history, which, count))


@styled
def draw_table(history: History, which: str = "largest", count: int = 12) -> Picture:
    """The table as a picture. Raises: ValueError, as `allocation_rows` has."""
    rows = allocation_rows(history, which, count)
    title = f"The {len(rows)} {which} allocations" if which == "largest" else "Never freed, by size"
    figure = new_figure(title, 0.9 + 0.3 * max(len(rows), 1))
    axes = figure.subplots()
    axes.set_axis_off()
    axes.set_ylim(len(rows) + 0.2, -0.8)
    lines = [{name: name for name in rows[0]} if rows else {"size": "none"}, *rows]
    for level, row in enumerate(lines):
        for left, text in zip((0, 0.13, 0.6), row.values(), strict=False):
            weight = "bold" if level == 0 else "normal"
            axes.text(left, level - 0.5, shortened(text, 58), fontsize=9, fontweight=weight)
    if rows:
        axes.axhline(0, color=KINDS["wait"], linewidth=1)
    return render(figure, title)
