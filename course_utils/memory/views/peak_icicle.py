"""A widget: who held how much at one moment, as an icicle of call stacks to zoom into."""

from typing import Any

from course_utils.figures.style import Picture
from course_utils.memory.views.bands import BEFORE_COLOUR
from course_utils.memory.views.pictures import colour_of, draw_peak
from course_utils.memory.views.tree import tree
from course_utils.memory.views.view import MemoryView, script
from course_utils.memory.views.words import moment_text, size_text

MOST_NODES = 800


class PeakIcicle(MemoryView):
    """Click a function to zoom into what it asked for; the slider leaves the peak."""

    _esm = script("peak_icicle.js")

    def _begin(self) -> None:
        self.do_go(self.history.peak)

    def do_go(self, moment: int) -> None:
        """Shows a moment. Raises: ValueError where there is none."""
        if not 0 <= moment < self.history.moments:
            raise ValueError(f"The moments run from 0 to {self.history.moments - 1}.")
        self.moment = int(moment)
        self.root = tree(self.history, self.moment)

    def _words(self) -> dict[str, Any]:
        return {
            "last": self.history.moments - 1,
            "peak": self.history.peak,
            "moment": self.moment,
            "event": moment_text(self.history, self.moment),
            "nodes": self._nodes(),
        }

    def _nodes(self) -> list[dict[str, Any]]:
        """Name, place and words of each node, from left and in width as shares of all bytes."""
        total = max(self.root.size, 1)
        nodes: list[dict[str, Any]] = []
        for node, depth, left in self.root.walk():
            share = f"{node.size / total:.1%} of what is live"
            many = "1 allocation" if node.count == 1 else f"{node.count:,} allocations"
            nodes.append({
                "name": node.name,
                "size": size_text(node.size),
                "words": f"{node.name}: {size_text(node.size)}, {share}, {many}",
                "depth": depth,
                "left": left / total,
                "width": node.size / total,
                "colour": colour_of(node.name) if depth else BEFORE_COLOUR,
            })  # fmt: skip
        return sorted(nodes, key=lambda node: -node["width"])[:MOST_NODES]

    def _still(self) -> Picture:
        return draw_peak(self.history)
