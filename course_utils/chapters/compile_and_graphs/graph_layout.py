"""Where the nodes of a graph stand: columns by depth, rows with few crossings, bands that fit.

A value on its way through columns that it has no node in takes a row there as well, so that no
arrow runs through a node. The method is Sugiyama's: layers, an order by the neighbours' middles,
places (Sugiyama, Tagawa and Toda 1981).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, combinations, pairwise
from statistics import fmean
from typing import Any

Node = Any
Item = tuple[Node, int]  # a node in its column, or its value on its way through a later one
PORT = 0.14  # of a row: how far above and below its middle a node's two operands arrive
SWEEPS = 6


@dataclass(frozen=True)
class Graph:
    """Nodes with their columns from 0, and of what each is made; `low` ones stand below all others.

    What a node is made of stands in columns before its own. Where two operands lead to a node, the
    first arrives above the second, but for those that take them `either_way`.
    """

    column: Mapping[Node, int]
    made_of: Mapping[Node, Sequence[Node]]
    low: frozenset[Node]
    either_way: frozenset[Node] = frozenset()

    @cached_property
    def columns(self) -> list[list[Item]]:
        """What takes a row of each column, in no order yet."""
        found: list[list[Item]] = [[] for _ in range(max(self.column.values()) + 1)]
        for node, first in self.column.items():
            for column in range(first, self._last(node) + 1):
                found[column].append((node, column))
        return found

    def sources(self, item: Item) -> list[tuple[Item, float]]:
        """What leads to an item from the column before it, and at which share of a row it ends."""
        node, column = item
        if column > self.column[node]:
            return [((node, column - 1), 0.0)]
        of = self.made_of.get(node, ())
        apart = len(of) == 2 and node not in self.either_way
        ports = (-PORT, PORT) if apart else (0.0,) * len(of)
        return [((one, column - 1), port) for one, port in zip(of, ports, strict=True)]

    def targets(self, item: Item) -> dict[Item, float]:
        """What an item leads to in the next column, and at which share of a row it arrives."""
        after = self.columns[item[1] + 1] if item[1] + 1 < len(self.columns) else []
        lines = ((target, *line) for target in after for line in self.sources(target))
        return {target: port for target, source, port in lines if source == item}

    def is_low(self, item: Item) -> bool:
        """Whether it belongs below: a low node, or a value that only low nodes still need."""
        node, column = item
        on_its_way = column > self.column[node]
        return node in self.low or (on_its_way and column > self._last(node, of_low=False))

    def _last(self, node: Node, of_low: bool = True) -> int:
        """The last column that its value takes a row in."""
        users = [
            v for v, of in self.made_of.items() if node in of and (of_low or v not in self.low)
        ]
        return max([self.column[node], *(self.column[user] - 1 for user in users)])


def rows(graph: Graph) -> dict[Item, float]:
    """Each item's row, from 0 downwards; rows of one column are far enough from each other."""
    columns = _ordered(graph)
    high = [[item for item in column if not graph.is_low(item)] for column in columns]
    found = {item: float(place) for column in high for place, item in enumerate(column)}
    for sweep in range(2 * SWEEPS + 1):
        for column in high if sweep % 2 == 0 else reversed(high):
            pulls = _pulls(graph, found, column, both=sweep == 2 * SWEEPS, forward=sweep % 2 == 0)
            found.update(zip(column, _apart(graph, column, pulls), strict=True))
    top = min(found.values(), default=0.0)
    found = {item: row - top for item, row in found.items()}
    floor = max(found.values(), default=-1.3) + 1.3
    for column in columns:
        low = [item for item in column if graph.is_low(item)]
        found.update({item: floor + place for place, item in enumerate(low)})
    return found


def bands(widths: Sequence[float], gaps: Sequence[float], most: float) -> list[range]:
    """The columns in as few bands as fit below each other, each about as wide.

    `gaps` are before each column; none of the widest band is over `most` but for a single column.
    """
    fewest = len(_filled(widths, gaps, most))
    limit = (sum(widths) + sum(gaps)) / fewest
    while limit < most and len(_filled(widths, gaps, limit)) > fewest:
        limit += 5
    return _filled(widths, gaps, min(limit, most))


def _filled(widths: Sequence[float], gaps: Sequence[float], most: float) -> list[range]:
    starts, room = [0], most - widths[0]
    for column in range(1, len(widths)):
        room -= gaps[column] + widths[column]
        if room < 0:
            starts.append(column)
            room = most - widths[column]
    return [range(*ends) for ends in pairwise([*starts, len(widths)])]


def spread(wanted: Sequence[float], gaps: Sequence[float]) -> list[float]:
    """The places nearest to those wanted (in squares) that keep their order and these gaps."""
    offsets = [0.0, *accumulate(gaps)]
    groups: list[list[float]] = []
    for place, offset in zip(wanted, offsets, strict=True):
        groups.append([place - offset])
        while len(groups) > 1 and fmean(groups[-2]) > fmean(groups[-1]):
            groups[-2:] = [groups[-2] + groups[-1]]
    levels = [fmean(group) for group in groups for _ in group]
    return [level + offset for level, offset in zip(levels, offsets, strict=True)]


def _ordered(graph: Graph) -> list[list[Item]]:
    """The columns in the order with the fewest crossings that sweeps to and fro find."""
    columns = [sorted(column, key=graph.is_low) for column in graph.columns]
    best, fewest = [list(column) for column in columns], _crossings(graph, columns)
    for sweep in range(SWEEPS):
        forward = sweep % 2 == 0
        for column in columns if forward else reversed(columns):
            found = {item: float(place) for one in columns for place, item in enumerate(one)}
            pulls = dict(zip(column, _pulls(graph, found, column, False, forward), strict=True))
            column.sort(key=_by_pull(graph, pulls))
        if (count := _crossings(graph, columns)) < fewest:
            best, fewest = [list(column) for column in columns], count
    return best


def _by_pull(graph: Graph, pulls: Mapping[Item, float]) -> Callable[[Item], tuple[bool, float]]:
    return lambda item: (graph.is_low(item), pulls[item])


def _pulls(
    graph: Graph, found: Mapping[Item, float], column: Sequence[Item], both: bool, forward: bool
) -> list[float]:
    """Where each item's neighbours before it, after it or on both sides would have it."""
    pulls = []
    for item in column:
        ends = [found[one] - port for one, port in graph.sources(item) if one in found]
        starts = [found[one] + port for one, port in graph.targets(item).items() if one in found]
        wanted = ends + starts if both else ends if forward else starts
        pulls.append(fmean(wanted) if wanted else found[item])
    return pulls


def _crossings(graph: Graph, columns: Sequence[Sequence[Item]]) -> int:
    """How many lines cross; those that lead to what is low are drawn faint, and don't count."""
    count = 0
    for before, after in pairwise(columns):
        places = {item: place for place, item in enumerate(before)}
        lines = [
            (places[one], end + port)
            for end, target in enumerate(after)
            if not graph.is_low(target)
            for one, port in graph.sources(target)
        ]
        count += sum((a[0] - b[0]) * (a[1] - b[1]) < 0 for a, b in combinations(lines, 2))
    return count


def _apart(graph: Graph, column: Sequence[Item], wanted: Sequence[float]) -> list[float]:
    """The rows nearest to those wanted, where what is only on its way needs less room."""
    is_node = [column == graph.column[node] for node, column in column]
    gaps = [1.0 if a and b else 0.75 if a or b else 0.4 for a, b in pairwise(is_node)]
    return spread(wanted, gaps) if wanted else []
