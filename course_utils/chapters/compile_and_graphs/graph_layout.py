"""Where a traced program's values are drawn: columns by depth, rows near those of their neighbours.

A value that is needed several columns later takes a row in each column on its way, so that no
arrow runs through a box (Sugiyama, Tagawa and Toda 1981).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise, product
from math import ceil
from statistics import fmean
from typing import TYPE_CHECKING, Any

import networkx as nx

from course_utils.chapters.compile_and_graphs.fusion import Fusion, Value, fuse, is_number
from course_utils.figures.alt_text import number

if TYPE_CHECKING:
    from matplotlib.path import Path

SIGNS = {"*": "×", "-": "−"}
RESULT = "result"  # the node that the program's result goes to
SWEEPS = 5  # over the columns, from the inputs to the result and back; the last one from the inputs

# In pixels: the picture; a row, a box in it, a letter; the margin at both sides.
WIDTH, ROW, TALL, LETTER, MARGIN = 790.0, 46.0, 30.0, 10.0, 12.0
GAP = 34.0  # between columns, at least
ABOVE, BELOW = 43.0, 26.0  # from the middle of a band's first and last row to its ends
PORT = 0.14  # of a row: how far above and below the middle of a box its two operands arrive

Node = Any  # a value, or RESULT
Item = tuple[Node, int]  # a node in its column, or its value on the way through a later column
Point = tuple[float, float]


def label(node: Node) -> str:
    """An operator with the numbers that it takes, as `− 2` or `2 −`; an input by its name."""
    if node == RESULT:
        return RESULT
    if not node.of:
        return number(float(node.op)) if is_number(node) else node.op
    sign = SIGNS.get(node.op, node.op)
    texts = [label(one) if is_number(one) else "" for one in node.of]
    parts = [sign, *texts] if len(texts) == 1 else [texts[0], sign, *texts[1:]]
    return " ".join(filter(None, parts))


def width(node: Node) -> float:
    """Width of a node's box in pixels."""
    return max(36.0, 16 + LETTER * len(label(node)))


@dataclass(frozen=True)
class Layout:
    """A traced program's nodes, placed in pixels; y runs downwards.

    Where the columns are too many for the picture's width they go on in a band below, as lines of
    text do. Numbers are no nodes, except for one that is the result.
    """

    tape: Sequence[Value]
    result: Value

    @cached_property
    def fusion(self) -> Fusion:
        return fuse(self.tape, self.result)

    @cached_property
    def loops(self) -> list[list[Value]]:
        """The operators of each loop that runs over elements, in the tape's order."""
        full = self.fusion.full
        return [g for g in self._groups if any(not full.isdisjoint([v, *v.of]) for v in g)]

    @cached_property
    def _groups(self) -> list[list[Value]]:
        """The operators that the result needs, by loop."""
        operators = [v for v in self.fusion.live if v.of]
        loops = sorted({self.fusion.loops[v] for v in operators})
        return [[v for v in operators if self.fusion.loops[v] == loop] for loop in loops]

    # ---- Columns

    @cached_property
    def sources(self) -> dict[Node, list[Node]]:
        """By node, the nodes that an arrow leads from."""
        shown = [v for v in self.tape if v.of or v is self.result or not is_number(v)]
        return {v: [u for u in v.of if u in shown] for v in shown} | {RESULT: [self.result]}

    @cached_property
    def low(self) -> frozenset[Node]:
        """Nodes drawn below all others: dead operators, and inputs that only these need."""
        return frozenset(self.sources) - {*self.fusion.live, RESULT}

    @cached_property
    def column(self) -> dict[Node, int]:
        """Column of each node: inputs first, then operators; two loops never share a column."""
        order = nx.DiGraph((one, node) for node, of in self.sources.items() for one in of)
        order.add_nodes_from(self.sources)
        inputs = [node for node, of in self.sources.items() if not of]
        for before, after in pairwise([inputs, *self._groups, [RESULT]]):
            order.add_edges_from(product(before, after))
        columns = enumerate(nx.topological_generations(order))
        return {node: column for column, nodes in columns for node in nodes}

    @cached_property
    def paths(self) -> dict[Node, list[list[Item]]]:
        """By node, the items on the way from each of its sources, one in each column."""

        def path(source: Node, node: Node) -> list[Item]:
            on_the_way = range(self.column[source], self.column[node])
            return [*((source, column) for column in on_the_way), (node, self.column[node])]

        return {node: [path(one, node) for one in of] for node, of in self.sources.items()}

    # ---- Rows

    @cached_property
    def high(self) -> set[Item]:
        """Items on a way to the result; all others are drawn below them."""
        paths = (path for node in self.paths if node not in self.low for path in self.paths[node])
        return set(chain.from_iterable(paths))

    @cached_property
    def ways(self) -> nx.DiGraph:
        """Graph of all items; an edge has a port where its operand must come in above or below."""
        ways = nx.DiGraph()
        ways.add_nodes_from(self.column.items())
        for node, paths in self.paths.items():
            for path, port in zip(paths, _ports(paths), strict=True):
                nx.add_path(ways, path)
                ways.edges[path[-2:]]["port"] = 0.0 if _takes_any(node) else port
        return ways

    @cached_property
    def rows(self) -> dict[Item, float]:
        """Row of each item: a column is in the order of its neighbours' rows, row 0 its middle."""
        backwards, result = nx.reverse_view(self.ways), (RESULT, self.column[RESULT])
        items = dict.fromkeys([*nx.dfs_preorder_nodes(backwards, result), *self.ways])
        columns = [[i for i in items if i[1] == c] for c in range(len(self.widths))]
        rows = {item: float(place) for column in columns for place, item in enumerate(column)}
        for sweep in range(SWEEPS):
            forward = sweep % 2 == 0
            for column in columns if forward else reversed(columns):
                wanted = {item: self._wanted(item, rows, forward) for item in column}
                column.sort(key=lambda item: (item not in self.high, wanted[item]))
                middle = (len(self.high.intersection(column)) - 1) / 2
                rows.update((item, place - middle) for place, item in enumerate(column))
        floor = max(rows[item] for item in self.high) + 1.3
        for column in columns:
            low = [item for item in column if item not in self.high]
            rows.update((item, floor + place) for place, item in enumerate(low))
        return rows

    def _wanted(self, item: Item, rows: Mapping[Item, float], forward: bool) -> float:
        """Mean row of an item's neighbours in the column before it, or in the one after it."""
        if forward:
            near = [rows[before] for before in self.ways.pred[item]]
        else:
            after = self.ways.out_edges(item, data="port", default=0.0)
            near = [rows[target] + port for _, target, port in after]
        return fmean(near or [rows[item]])

    # ---- Pixels

    @cached_property
    def widths(self) -> list[float]:
        """Width of each column: that of its widest box."""
        ends = range(max(self.column.values()) + 1)
        return [max(width(n) for n, at in self.column.items() if at == c) for c in ends]

    @cached_property
    def lefts(self) -> list[float]:
        """Left end of each column; a column that begins a new band starts at the left again."""
        room, boxes, gaps = WIDTH - 2 * MARGIN, sum(self.widths), len(self.widths) - 1
        gap = max(GAP, min((room - boxes) / gaps, 2 * GAP))
        most, total = room + 1, boxes + gap * gaps
        if total > most:  # bands about as wide as each other
            most = min(room, total / ceil(total / (room - GAP)) + max(self.widths) + 2 * GAP)
        found, x = [], MARGIN
        for wide in self.widths:
            if x + wide > MARGIN + most:
                x = MARGIN + GAP
            found.append(x)
            x += wide + gap
        return found

    @cached_property
    def bands(self) -> list[range]:
        """The columns of each band."""
        starts = [c for c, left in enumerate(self.lefts) if c == 0 or left < self.lefts[c - 1]]
        return [range(*ends) for ends in pairwise([*starts, len(self.lefts)])]

    @cached_property
    def tops(self) -> list[float]:
        """y of row 0 in each band, and at last y of the picture's end."""
        found, y = [], 0.0
        for band in self.bands:
            around = range(band[0] - 1, band[-1] + 1)  # with the lines that come from above
            rows = [row for (_, column), row in self.rows.items() if column in around]
            found.append(y + ABOVE - min(rows) * ROW)
            y += ABOVE + (max(rows) - min(rows)) * ROW + BELOW
        return [*found, y]

    def band_of(self, column: int) -> int:
        return next(place for place, band in enumerate(self.bands) if column in band)

    def middle(self, item: Item) -> Point:
        """Middle of a node's box, or of the column that a value passes through."""
        column = item[1]
        y = self.tops[self.band_of(column)] + self.rows[item] * ROW
        return self.lefts[column] + self.widths[column] / 2, y

    def frames(self) -> Iterator[tuple[str, Point, float, float]]:
        """Name, upper left corner, width and height of the frame round each loop, in each band."""
        for place, group in enumerate(self.loops, 1):
            inside = {self.column[value] for value in group}
            for columns in filter(None, map(inside.intersection, self.bands)):
                ys = [self.middle(item)[1] for item in self.high if item[1] in columns]
                left, top = self.lefts[min(columns)] - 10, min(ys) - TALL / 2 - 23
                right = self.lefts[max(columns)] + self.widths[max(columns)] + 10
                yield f"loop {place}", (left, top), right - left, max(ys) + TALL / 2 + 8 - top

    def arrows(self) -> Iterator[tuple[Node, Node, "Path"]]:
        """Source, target and path of each arrow: level within columns, curved between them."""
        for node, paths in self.paths.items():
            if _takes_any(node):
                paths = sorted(paths, key=lambda path: self.rows[path[-2]])
            for path, port in zip(paths, _ports(paths), strict=True):
                yield path[0][0], node, self._arrow(path, port * ROW)

    def _arrow(self, way: Sequence[Item], port: float) -> "Path":
        from matplotlib.path import Path

        x, y = self.middle(way[0])
        corners = [(Path.MOVETO, (x + width(way[0][0]) / 2, y))]
        for before, after in pairwise(way):
            y = self.middle(before)[1]
            start, end = self.lefts[before[1]] + self.widths[before[1]], self.lefts[after[1]]
            corners.append((Path.LINETO, (start, y)))
            if end < start:  # in the next band it comes in at the same height
                corners.append((Path.LINETO, (WIDTH, y)))
                start, y = 0.0, self.tops[self.band_of(after[1])] + self.rows[before] * ROW
                corners.append((Path.MOVETO, (start, y)))
            below = self.middle(after)[1] + (port if after is way[-1] else 0)
            half = (start + end) / 2
            corners += [(Path.CURVE4, one) for one in ((half, y), (half, below), (end, below))]
        box = self.middle(way[-1])[0] - width(way[-1][0]) / 2
        corners += [(Path.LINETO, (box, below))] if box > end else []
        codes, points = zip(*corners, strict=True)
        return Path(points, codes)


def _takes_any(node: Node) -> bool:
    """Whether the node's operands may change places."""
    return node != RESULT and node.op in ("+", "*")


def _ports(operands: Sequence[Any]) -> list[float]:
    """Where operands come in, in rows from the middle: the left one above the right one."""
    return [-PORT, PORT] if len(operands) == 2 else [0.0] * len(operands)
