"""The icicle: who held how much at one moment, live bytes summed over call stacks."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from course_utils.figures import alt_text
from course_utils.figures.byte_bars import PARTS
from course_utils.figures.style import INK, OTHER_KINDS, Picture, one_panel, render, styled
from course_utils.memory.views.view import MemoryView
from snapshots_and_traces.snapshot_viewer.groups import BEFORE_COLOUR, groups
from snapshots_and_traces.snapshots.lives import History
from snapshots_and_traces.snapshots.stacks import path
from snapshots_and_traces.units import shortened, size_text

COLOURS = (*OTHER_KINDS, "#F0E442")
SMALLEST_SHARE, DEEPEST, DEEPEST_SHOWN = 0.003, 40, 14


@dataclass
class Node:
    """A function on the way to allocations of so many bytes; children by bytes, most first."""

    name: str
    size: int = 0
    children: "dict[str, Node]" = field(default_factory=dict)

    def walk(self, depth: int = 0, left: int = 0) -> "Iterator[tuple[Node, int, int]]":
        """Each node with its depth and the bytes left of it, parents first."""
        yield self, depth, left
        for child in self.children.values():
            yield from child.walk(depth + 1, left)
            left += child.size


def tree(history: History) -> Node:
    """The call stacks of what is live at the peak, the outermost function at the top.

    Nodes below 0.3% of all are summed as "smaller". The kinds of allocations, where the trace has
    them, come first.
    """
    alive = history.allocations.at(history.peak)
    root = Node("everything live")
    keys = history.stacks[alive] * len(history.site_names) + history.sites[alive]
    each, place = np.unique(keys, return_inverse=True)
    sizes = np.bincount(place, history.allocations.size[alive], len(each)).astype(np.int64)
    for key, size in zip(each.tolist(), sizes.tolist(), strict=True):
        stack, site = divmod(key, len(history.site_names))
        names = path(history.trace.stacks[stack])[:DEEPEST] if stack else []
        if history.by_category or not stack:
            names = [history.site_names[site], *names]
        _add(root, names, size)
    _prune(root, root.size * SMALLEST_SHARE)
    return _skipping_shared_beginning(root)


def _add(root: Node, names: list[str], size: int) -> None:
    node = root
    for name in [None, *names]:
        if name is not None:
            node = node.children.setdefault(name, Node(name))
        node.size += size


def _prune(node: Node, smallest: float) -> None:
    """Sorts each node's children, the largest first, and sums those below `smallest` as one."""
    children = sorted(node.children.values(), key=lambda child: -child.size)
    node.children = {child.name: child for child in children if child.size >= smallest}
    for child in node.children.values():
        _prune(child, smallest)
    rest = sum(child.size for child in children if child.size < smallest)
    if 0 < smallest <= rest:
        node.children["smaller"] = Node("smaller", rest)


def _skipping_shared_beginning(root: Node) -> Node:
    """Without the functions through which every stack goes and that asked for nothing."""
    children = root.children
    while len(children) == 1:
        (only,) = children.values()
        passed_on = sum(child.size for child in only.children.values())
        if only.size < root.size or passed_on < (1 - SMALLEST_SHARE) * only.size:
            break
        children = only.children
    return Node(root.name, root.size, children)


@styled
def draw_peak(history: History) -> Picture:
    """The call stacks of what is live at the peak, as an icicle: each function as wide as the bytes
    that it and what it called asked for.
    """
    root = tree(history)
    nodes = [(n, d, left) for n, d, left in root.walk() if d <= DEEPEST_SHOWN]
    depth = max(d for _, d, _ in nodes) + 1
    title = f"Who held the {size_text(root.size)} that were live at the peak"
    figure, axes = one_panel(title, 1.2 + 0.36 * depth)
    total, known = max(root.size, 1), {name: colour for name, colour in groups(history) if name}
    places = [(level, node.size, left) for node, level, left in nodes]
    said = [f"the outermost on top {alt_text.digest(places)}"]
    for node, level, left in nodes:
        colour = BEFORE_COLOUR if level == 0 else known.get(node.name) or colour_of(node.name)
        axes.barh(
            level, node.size / total, left=left / total, height=0.94, color=colour,
            edgecolor="white", linewidth=0.7,
        )  # fmt: skip
        room = int(node.size / total * 95)
        if room > 5:
            text = shortened(f"{node.name} · {size_text(node.size)}", room)
            axes.text(left / total + 0.004, level, text, va="center", fontsize=9, color=INK)
            said.append(f"{'  ' * (level + 1)}{node.name} · {size_text(node.size)}")
    axes.set(ylim=(depth - 0.4, -0.6), xlim=(0, 1))
    axes.set_axis_off()
    if len(nodes) >= len(said):
        said.append(f"and {len(nodes) - len(said) + 1} too small for their names")
    return render(figure, title, said)


def colour_of(name: str) -> str:
    """A kind of bytes has its own colour; another name one that is the same in every run."""
    return PARTS.get(name) or COLOURS[sum(name.encode()) % len(COLOURS)]


class PeakIcicle(MemoryView):
    """Click a function to zoom into what it asked for; the slider leaves the peak."""

    view, height = "icicle", 460

    def _still(self) -> Picture:
        return draw_peak(self.history)
