"""A traced program's boxes, arrows and frames of loops, placed in pixels before any is drawn."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

from course_utils.chapters.compile_and_graphs.fusion import Fusion, Value, fuse
from course_utils.chapters.compile_and_graphs.graph_layout import PORT, Graph, Item, Node, spread
from course_utils.chapters.compile_and_graphs.graph_nodes import (
    RESULT,
    graph_of,
    label,
    loop_groups,
)
from course_utils.chapters.compile_and_graphs.graph_places import (
    LANE,
    ROW,
    TALL,
    Places,
    Point,
    width,
)


@dataclass(frozen=True)
class Box:
    """A node: what it says, its middle, its width; `kind` is input, operator, sum or result."""

    label: str
    kind: str
    is_dead: bool
    x: float
    y: float
    width: float


@dataclass(frozen=True)
class Stroke:
    """A piece of a value's way, with the arrow's head at its end where it comes to a node."""

    points: tuple[Point, ...]
    is_full: bool
    is_dead: bool
    has_head: bool


@dataclass(frozen=True)
class Frame:
    """What is round a loop's operators; the part of it that is in one band."""

    label: str
    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True)
class Scene:
    """A program as it is drawn."""

    tape: Sequence[Value]
    result: Value

    @cached_property
    def fusion(self) -> Fusion:
        return fuse(self.tape, self.result)

    @cached_property
    def loops(self) -> list[list[Value]]:
        return loop_groups(self.fusion)

    @cached_property
    def graph(self) -> Graph:
        return graph_of(self.tape, self.result, self.fusion)

    @cached_property
    def places(self) -> Places:
        return Places(self.graph, self.loops)

    @cached_property
    def boxes(self) -> list[Box]:
        return [
            Box(
                label(node),
                _kind(node),
                node in self.graph.low,
                *self.places.middle((node, column)),
                width(node),
            )
            for node, column in self.graph.column.items()
        ]

    @cached_property
    def frames(self) -> list[Frame]:
        found = []
        for place, group in enumerate(self.loops):
            columns = {self.graph.column[value] for value in group}
            for band in self.places.bands:
                here = [column for column in band if column in columns]
                if here:
                    again = "… " if here[0] > min(columns) else ""
                    found.append(self._frame(f"{again}loop {place + 1}", here))
        return found

    def _frame(self, text: str, columns: list[int]) -> Frame:
        items = [item for column in columns for item in self.graph.columns[column]]
        ys = [self.places.middle(item)[1] for item in items if not self.graph.is_low(item)]
        left, right = self.places.xs[columns[0]] - 10, self.places.right(columns[-1]) + 10
        return Frame(text, left, min(ys) - TALL / 2 - 23, right, max(ys) + TALL / 2 + 8)

    def strokes(self) -> Iterator[Stroke]:
        """Every piece of every value's way, a column at a time."""
        for place, band in enumerate(self.places.bands[:-1]):
            yield from self._returns(place, band)
        for column in self.graph.columns:
            for item in column:
                found = self.graph.sources(item)
                if item[0] in self.graph.either_way and len(found) == 2:
                    found.sort(key=lambda one: self.places.rows[one[0]])
                    found = [(found[0][0], -PORT), (found[1][0], PORT)]
                for source, port in found:
                    yield self._stroke(source, item, port)

    def _stroke(self, source: Item, target: Item, port: float) -> Stroke:
        after = target[1]
        x, y = self.places.middle(target)
        ends_here = self.graph.column[target[0]] == after
        end = x - width(target[0]) / 2 if ends_here else self.places.right(after)
        way = self._start(source)
        for place, band in enumerate(self.places.bands[1:], 1):
            if after == band[0]:
                turn = self.places.crossing(self.places.bands[place - 1]).index(source)
                way = [(self.places.margin + 4, self._entries(place)[turn])]
        y += port * ROW
        points = (*way[:-1], *_bend(way[-1], (self.places.xs[after], y)), (end, y))
        return self._line(points, source, self.graph.is_low(target), ends_here)

    def _start(self, source: Item) -> list[Point]:
        """From a box, or from its column's end where a value is on its way, to the column's end."""
        x, y = self.places.middle(source)
        node, column = source
        out = self.places.right(column)
        starts_here = self.graph.column[node] == column
        return [(x + width(node) / 2, y), (out, y)] if starts_here else [(out, y)]

    def _line(self, points: tuple[Point, ...], source: Item, is_dead: bool, head: bool) -> Stroke:
        return Stroke(points, source[0] in self.fusion.full, is_dead, head)

    def _returns(self, place: int, band: range) -> Iterator[Stroke]:
        """From the end of a band round to the beginning of the next: lines nested, none crossed."""
        crossing = self.places.crossing(band)
        edge = max(self.places.right(one[-1]) for one in self.places.bands) + 16
        for turn, source in enumerate(crossing):
            y, outer = self.places.middle(source)[1], LANE * (len(crossing) - 1 - turn)
            lane = self.places.tops[place + 1] - len(crossing) * LANE + outer
            left, down = self.places.margin - 4 - LANE * turn, self._entries(place + 1)[turn]
            right, entry = edge + outer, (self.places.margin + 4, down)
            way = [(right, y), (right, lane), (left, lane), (left, down), entry]
            is_dead = all(map(self.graph.is_low, self.graph.targets(source)))
            yield self._line((*self._start(source), *way), source, is_dead, False)

    def _entries(self, place: int) -> list[float]:
        """Where a band's values come in, in the order in which they left the band before."""
        wanted = []
        for source in self.places.crossing(self.places.bands[place - 1]):
            ys = [self.places.middle(target)[1] for target in self.graph.targets(source)]
            wanted.append(fmean(ys))
        return spread(wanted, [2 * LANE] * (len(wanted) - 1)) if wanted else []


def _kind(node: Node) -> str:
    if node == RESULT:
        return RESULT
    return "input" if not node.of else "sum" if node.op == "sum" else "operator"


def _bend(start: Point, end: Point, pieces: int = 14) -> Iterator[Point]:
    """From one height to another, level at both ends."""
    (x0, y0), (x1, y1) = start, end
    for piece in range(pieces + 1):
        share = piece / pieces
        yield x0 + (x1 - x0) * share, y0 + (y1 - y0) * share**2 * (3 - 2 * share)
