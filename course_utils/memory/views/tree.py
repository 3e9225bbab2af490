"""Who held how much at one moment: live bytes summed over call stacks, as a tree."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from course_utils.memory.snapshots.lives import History
from course_utils.memory.snapshots.stacks import path

SMALLEST_SHARE, DEEPEST = 0.003, 40


@dataclass
class Node:
    """A function on the way to allocations of so many bytes; children by bytes, most first."""

    name: str
    size: int = 0
    count: int = 0
    children: "dict[str, Node]" = field(default_factory=dict)

    def walk(self, depth: int = 0, left: int = 0) -> "Iterator[tuple[Node, int, int]]":
        """Each node with its depth and the bytes left of it, parents first."""
        yield self, depth, left
        for child in self.children.values():
            yield from child.walk(depth + 1, left)
            left += child.size


def tree(history: History, moment: int | None = None) -> Node:
    """The call stacks of what is live at a moment, the outermost function at the top.

    Without a moment, at the peak. Nodes below 0.3% of all are summed as "smaller". The kinds of
    allocations, where the trace has them, come first.
    """
    moment = history.peak if moment is None else moment
    alive = history.allocations.at(moment)
    root = Node("everything live")
    keys = history.stacks[alive] * len(history.site_names) + history.sites[alive]
    each, place = np.unique(keys, return_inverse=True)
    sizes = np.bincount(place, history.allocations.size[alive], len(each)).astype(np.int64)
    counts = np.bincount(place, minlength=len(each))
    for key, size, count in zip(each.tolist(), sizes.tolist(), counts.tolist(), strict=True):
        stack, site = divmod(key, len(history.site_names))
        names = path(history.trace.stacks[stack])[:DEEPEST] if stack else []
        if history.by_category or not stack:
            names = [history.site_names[site], *names]
        _add(root, names, size, count)
    _prune(root, root.size * SMALLEST_SHARE)
    return _skipping_shared_beginning(root)


def _add(root: Node, names: list[str], size: int, count: int) -> None:
    node = root
    for name in [None, *names]:
        if name is not None:
            node = node.children.setdefault(name, Node(name))
        node.size += size
        node.count += count


def _prune(node: Node, smallest: float) -> None:
    children = sorted(node.children.values(), key=lambda child: -child.size)
    kept = [child for child in children if child.size >= smallest]
    small = [child for child in children if child.size < smallest]
    node.children = {child.name: child for child in kept}
    if small and sum(child.size for child in small) >= smallest:
        rest = Node("smaller", sum(c.size for c in small), sum(c.count for c in small))
        node.children[rest.name] = rest
    for child in kept:
        _prune(child, smallest)


def _skipping_shared_beginning(root: Node) -> Node:
    """Without the functions through which every stack goes and that asked for nothing."""
    children = root.children
    while len(children) == 1:
        (only,) = children.values()
        passed_on = sum(child.size for child in only.children.values())
        if only.size < root.size or passed_on < (1 - SMALLEST_SHARE) * only.size:
            break
        children = only.children
    return Node(root.name, root.size, root.count, children)


def largest(history: History, count: int = 20) -> list[int]:
    """The largest allocations of the whole trace, as places in `history.allocations`."""
    return _by_size(history, np.arange(len(history.allocations)), count)


def never_freed(history: History, count: int = 20) -> list[int]:
    """The largest that the trace allocated and never freed: what may leak, or simply lives on."""
    lives = history.allocations
    kept = np.flatnonzero((lives.death >= history.moments) & (lives.event >= 0))
    return _by_size(history, kept, count)


def _by_size(history: History, places: "np.ndarray", count: int) -> list[int]:
    order = np.lexsort((history.allocations.birth[places], -history.allocations.size[places]))
    return places[order[:count]].tolist()
