"""Where the nodes of a traced program stand in a picture, in pixels; y runs downwards."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from course_utils.chapters.compile_and_graphs.fusion import Value
from course_utils.chapters.compile_and_graphs.graph_layout import Graph, Item, Node, bands, rows
from course_utils.chapters.compile_and_graphs.graph_nodes import RESULT, label

WIDTH, ROW, TALL, LETTER = 790.0, 46.0, 30.0, 10.0  # the picture, a row, a box in it, a letter
GAP, BORDER, LANE = 34.0, 14.0, 7.0  # between columns, more at a loop's frame, between lines
NARROW = 12.0  # the margin beside a graph in one band
ABOVE, BELOW = 43.0, 26.0  # from the middle of a band's first and last row to its ends
Point = tuple[float, float]


def width(node: Node) -> float:
    """Of a node's box."""
    return max(36.0, 16 + LETTER * len(label(node)))


@dataclass(frozen=True)
class Places:
    """A graph's columns from left to right, in bands below each other where one is too long.

    `loops` are the operators that share a frame.
    """

    graph: Graph
    loops: Sequence[Sequence[Value]]

    @cached_property
    def rows(self) -> dict[Item, float]:
        return rows(self.graph)

    @cached_property
    def widths(self) -> list[float]:
        """Of each column: its widest box."""
        found = [0.0] * len(self.graph.columns)
        for node, column in self.graph.column.items():
            found[column] = max(found[column], width(node))
        return found

    @cached_property
    def bands(self) -> list[range]:
        gaps = self._gaps(GAP)
        most = WIDTH - 2 * self.margin
        return bands(self.widths, gaps, most - GAP if self.margin > NARROW else most)

    @cached_property
    def xs(self) -> list[float]:
        """The left end of each column; where there is room, they stand further apart."""
        spare = min(self._spare(band) for band in self.bands)
        gaps = self._gaps(GAP + min(spare, 1.2 * GAP))
        found: list[float] = []
        for place, band in enumerate(self.bands):
            x = self.margin + (GAP if place else 0)
            for column in band:
                x += gaps[column] if column > band[0] else 0
                found.append(x)
                x += self.widths[column]
        return found

    def right(self, column: int) -> float:
        """The right end of a column."""
        return self.xs[column] + self.widths[column]

    @cached_property
    def tops(self) -> list[float]:
        """Where each band begins, and where the last one ends."""
        found = [0.0]
        for band in self.bands:
            first, last = self._reach(band)
            back = len(self.crossing(band)) * LANE + 6 if band is not self.bands[-1] else 0
            found.append(found[-1] + ABOVE + (last - first) * ROW + BELOW + back)
        return found

    def middle(self, item: Item) -> Point:
        """The middle of a box, or of the column that a value is on its way through."""
        column = item[1]
        band, top = next((b, t) for b, t in zip(self.bands, self.tops, strict=False) if column in b)
        y = top + ABOVE + (self.rows[item] - self._reach(band)[0]) * ROW
        return self.xs[column] + self.widths[column] / 2, y

    def crossing(self, band: range) -> list[Item]:
        """What goes on behind a band's last column, from top to bottom."""
        if band[-1] + 1 == len(self.graph.columns):
            return []
        after = self.graph.columns[band[-1] + 1]
        found = {source for target in after for source, _ in self.graph.sources(target)}
        return sorted(found, key=lambda item: self.rows[item])

    @cached_property
    def margin(self) -> float:
        """Beside the graph; where it takes several bands, with room for lines round their ends."""
        if sum(self.widths) + sum(self._gaps(GAP)) <= WIDTH - 2 * NARROW:
            return NARROW
        pairs = pairwise(self.graph.columns)
        most = max(len({s for t in after for s, _ in self.graph.sources(t)}) for _, after in pairs)
        return 2 * NARROW + LANE * most

    def _gaps(self, gap: float) -> list[float]:
        begins = {min(self.graph.column[value] for value in group) for group in self.loops}
        ends = self.graph.column[RESULT]
        return [
            0.0 if column == 0 else gap + (BORDER if column in begins or column == ends else 0)
            for column in range(len(self.widths))
        ]

    def _spare(self, band: range) -> float:
        """How much wider each gap of a band could be."""
        gaps = self._gaps(GAP)
        used = sum(self.widths[column] for column in band) + sum(gaps[c] for c in band[1:])
        used += GAP if band[0] else 0
        return max(0.0, WIDTH - 2 * self.margin - used) / max(1, len(band) - 1)

    def _reach(self, band: range) -> tuple[float, float]:
        found = [self.rows[item] for column in band for item in self.graph.columns[column]]
        return min(found), max(found)
