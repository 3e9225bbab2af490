"""A traced program as a picture: operators, the loops they are fused into, dead code."""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise, product
from statistics import fmean
from typing import Any

import ipywidgets as widgets
import networkx as nx

from course_utils.chapters.compile_and_graphs.fusion import Tracer, Value, fuse, is_number
from course_utils.figures import style
from course_utils.figures.alt_text import number
from course_utils.figures.controls import LOOK, Controls

SIGNS = {"*": "×", "-": "−"}
RESULT, INPUT, DEAD = "result", -1, 1_000  # the result's node; in place of a loop's number
FACES = {"input": "#FFFFFF", "operator": "#CFE8F7", "sum": "#F8DDB0", "dead": "#FAFAFA"}
EDGES = {"input": "#555555", "operator": "#56B4E9", "sum": "#E69F00", "dead": "#8C8C8C"}

# In pixels: the picture, a row, a box's height, a letter, between columns, the words below.
WIDTH, ROW, TALL, LETTER, GAP, WORDS = 790.0, 46.0, 28.0, 9.5, 34.0, 40.0

Node = tuple[Any, int]  # a value, and the loop that computes it there, or INPUT or DEAD


class Layout:
    """A program's values as nodes, one for each loop that computes it, and where they are drawn.

    `graph` has the arrows; `at` the middle of each node, in pixels, y downwards. An arrow that
    passes columns takes a place in each of them, so that it runs through no box.
    """

    def __init__(self, tape: Sequence[Value], result: Value) -> None:
        self.fusion = fuse(tape, result)
        self.result, self.end = result, (RESULT, DEAD - 1)
        self.graph = nx.DiGraph()
        for value in [v for v in tape if not is_number(v) or v is result]:
            for node in self._nodes(value):
                self.graph.add_node(node)
                of = [one for one in value.of if not is_number(one)]
                self.graph.add_edges_from((self._source(one, node[1]), node) for one in of)
        self.graph.add_edge(self._nodes(result)[0], self.end)
        self.columns = self._columns()
        self.ways = nx.DiGraph()  # with a place in each column on an arrow's way
        self.ways.add_nodes_from((node, column) for node, column in self.columns.items())
        for edge in self.graph.edges:
            nx.add_path(self.ways, self.way(*edge))
        self.rows = self._rows()
        self._place()

    def _nodes(self, value: Value) -> list[Node]:
        if not value.of:
            return [(value, INPUT)]
        return [(value, loop) for loop in sorted(self.fusion.loops.get(value, {DEAD}))]

    def _source(self, value: Value, loop: int) -> Node:
        """The node of an operand: computed in the same loop, or in the last one before it."""
        return [node for node in self._nodes(value) if node[1] <= loop][-1]

    def groups(self) -> list[list[Node]]:
        """The nodes of each loop that runs over elements."""
        loops = sorted({loop for _, loop in self.graph if INPUT < loop < self.end[1]})
        groups = [[node for node in self.graph if node[1] == loop] for loop in loops]
        full = self.fusion.full
        return [g for g in groups if any(not full.isdisjoint([v, *v.of]) for v, _ in g)]

    def _columns(self) -> dict[Node, int]:
        """Inputs first; two loops never share a column."""
        order = self.graph.copy()
        loops = sorted({loop for _, loop in self.graph if loop < DEAD})
        stages = [[node for node in self.graph if node[1] == loop] for loop in loops]
        for before, after in pairwise(stages):
            order.add_edges_from(product(before, after))
        layers = enumerate(nx.topological_generations(order))
        return {node: column for column, nodes in layers for node in nodes}

    def way(self, source: Node, node: Node) -> list[tuple[Node, int]]:
        """The places on the way of an arrow, one in each column."""
        between = range(self.columns[source], self.columns[node])
        return [*((source, column) for column in between), (node, self.columns[node])]

    def _rows(self) -> dict[tuple[Node, int], float]:
        """Each column by the mean rows of its neighbours; arrows that pass a loop are below it."""
        edges = self.graph.edges
        alive = {place for e in edges if e[1][1] != DEAD for place in self.way(*e)}
        dead = {place for e in edges for place in self.way(*e)} - alive
        columns: list[list[tuple[Node, int]]] = [[] for _ in {*self.columns.values()}]
        for place in self.ways:
            columns[place[1]].append(place)
        rows = {place: float(row) for places in columns for row, place in enumerate(places)}
        for sweep in range(6):  # forwards and backwards in turn
            for places in columns if sweep % 2 == 0 else columns[::-1]:
                near = {p: [rows[q] for q in nx.all_neighbors(self.ways, p)] for p in places}
                order = {
                    p: (p in dead, self.columns[p[0]] != p[1], fmean(near[p] or [rows[p]]))
                    for p in places
                }
                places.sort(key=order.__getitem__)
                middle = (len(places) - 1) / 2
                rows.update((p, row - middle + 0.6 * (p in dead)) for row, p in enumerate(places))
        return rows

    def _place(self) -> None:
        wide = [max(self.width(n) for n, c in self.columns.items() if c == column)
                for column in range(1 + max(self.columns.values()))]  # fmt: skip
        free = (WIDTH - 24 - sum(wide)) / max(1, len(wide) - 1)
        gap = max(GAP / 2, min(free, 2 * GAP))
        self.lefts = [12 + sum(wide[:column]) + gap * column for column in range(len(wide))]
        self.wide = max(WIDTH, self.lefts[-1] + wide[-1] + 12)
        lowest = min(self.rows.values())
        self.tall = (max(self.rows.values()) - lowest) * ROW + 90
        self.at = {
            (node, column): (self.lefts[column] + wide[column] / 2, 50 + (row - lowest) * ROW)
            for (node, column), row in self.rows.items()
        }
        self.ends = [left + one for left, one in zip(self.lefts, wide, strict=True)]

    def width(self, node: Node) -> float:
        """Width of a node's box."""
        return max(36.0, 14 + LETTER * len(label(node[0])))

    def middle(self, node: Node) -> tuple[float, float]:
        """Middle of a node's box."""
        return self.at[node, self.columns[node]]

    def frames(self) -> Iterator[tuple[str, tuple[float, float], float, float]]:
        """Name, upper left corner, width and height of the frame round each loop."""
        for place, group in enumerate(self.groups(), 1):
            columns, ys = [self.columns[n] for n in group], [self.middle(n)[1] for n in group]
            left, right = self.lefts[min(columns)] - 7, self.ends[max(columns)] + 7
            top = min(ys) - TALL / 2 - 20
            yield f"loop {place}", (left, top), right - left, max(ys) + TALL / 2 + 7 - top

    def line(self, source: Node, node: Node) -> list[tuple[float, float]]:
        """The corners of an arrow: level within a column, straight between two."""
        *way, last = self.way(source, node)
        corners = []
        for place in way:
            y = self.at[place][1]
            corners += [(self.lefts[place[1]], y), (self.ends[place[1]], y)]
        x, y = self.middle(source)
        corners[0] = (x + self.width(source) / 2, y)
        end, below = self.at[last]
        return [*corners, (end - self.width(node) / 2, below)]


def label(value: Any) -> str:
    """An operator with the numbers that it takes, as `− 2` or `2 −`; an input by its name."""
    if value == RESULT:
        return RESULT
    if not value.of:
        return number(float(value.op)) if is_number(value) else value.op
    texts = [label(one) if is_number(one) else "" for one in value.of]
    sign = SIGNS.get(value.op, value.op)
    return " ".join(filter(None, [texts[0], sign, *texts[1:]] if texts[1:] else [sign, *texts]))


@style.styled
def draw_graph(title: str, tape: Sequence[Value], result: Value) -> style.Picture:
    """Draws a program from left to right, with a frame round each loop.

    Inputs are outlined, operators filled; a value that two loops compute is drawn in both. A thin
    arrow is one number; what the result doesn't need is grey and dashed.
    Raises: TypeError for a result that is no value of the tape.
    """
    layout = Layout(tape, result)
    figure, axes = style.one_panel(title, 4)
    axes.set(xlim=(0, layout.wide), ylim=(layout.tall + WORDS, 0), aspect="equal", anchor="NW")
    axes.set_axis_off()
    high = (layout.tall + WORDS + 44) * style.WIDTH_INCHES / layout.wide
    figure.set_size_inches(style.WIDTH_INCHES, high)
    small = min(1.0, WIDTH / layout.wide)  # letters shrink with a wide program
    green = {"facecolor": "#EEF5EA", "edgecolor": "#9CC48A", "zorder": 0}
    for name, corner, wide, tall in layout.frames():
        style.round_box(axes, corner, wide, tall, 8, **green)
        axes.text(corner[0] + 7, corner[1] + 11, name, va="center", fontsize=10 * small)
    for source, node in layout.graph.edges:
        dead = node[1] == DEAD
        *corners, last, end = layout.line(source, node)
        look: dict[str, Any] = {"color": "#A8A8A8"} if dead else {"color": "#555555"}
        look["linestyle"] = "--" if dead else "-"
        look["linewidth"] = 2.0 if source[0] in layout.fusion.full else 0.9
        axes.plot(*zip(*corners, last, strict=True), zorder=1, **look)
        look |= {"arrowstyle": "-|>", "shrinkA": 0, "shrinkB": 0}
        axes.annotate("", end, last, arrowprops=look, zorder=1)
    for node in layout.graph:
        _draw_box(axes, layout, node, small)
    thin = any(source[0] not in layout.fusion.full for source, _ in layout.graph.edges)
    eager, fused = layout.fusion.passes_eager, layout.fusion.passes_fused
    said = f"one by one: {eager} pass{'es' * (eager != 1)} over memory; fused: {fused}"
    said += " · a thin arrow: one number" if thin else ""
    axes.text(12, layout.tall + WORDS / 2, said, va="center", fontsize=12 * small)
    return style.render(figure, f"{title}: {in_words(layout)}", [said])


def _draw_box(axes: "style.Axes", layout: Layout, node: Node, small: float) -> None:
    (x, y), (value, loop) = layout.middle(node), node
    ink = "#6B6B6B" if loop == DEAD else style.INK
    weight = "bold" if loop == INPUT or value == RESULT else "normal"
    text: dict[str, Any] = {"ha": "center", "va": "center", "color": ink, "weight": weight}
    text["zorder"] = 4
    axes.text(x, y, label(value), fontsize=11 * small, **text)
    if value == RESULT:
        return
    kind = "input" if loop == INPUT else "sum" if value.op == "sum" else "operator"
    if loop == DEAD:
        kind = "dead"
        axes.text(x, y + TALL / 2 + 9, "dead", fontsize=9, **text)
    wide, line = layout.width(node), "--" if loop == DEAD else "-"
    look: dict[str, Any] = {"facecolor": FACES[kind], "edgecolor": EDGES[kind], "zorder": 2}
    look |= {"linestyle": line, "linewidth": 1.6}
    corner, radius = (x - wide / 2, y - TALL / 2), 4 if loop == INPUT else 13
    style.round_box(axes, corner, wide, TALL, radius, **look)


def graph_widget(trace: Tracer, programs: Mapping[str, Callable[..., Any]]) -> Controls:
    """Shows one of the programs, and what fusing can gain.

    `trace` is the page's tracer; it is given each program with the names of its parameters.
    """

    def draw(program: str) -> tuple[style.Picture, str]:
        tape, result = trace(
            programs[program], list(inspect.signature(programs[program]).parameters)
        )
        bound = fuse(tape, result).bound
        gain = f"at most <b>{bound:.3g}×</b> as fast" if bound > 1 else "fusing saves no pass"
        return draw_graph(program, tape, result), f"if memory sets the time: {gain}"

    program = widgets.Dropdown(options=list(programs), description="program", **LOOK)
    title = "A program as a graph: its loops, and its passes before and after fusing"
    return Controls(draw, title, program=program)


def in_words(layout: Layout) -> str:
    """The graph as text: `loop 1: #1 = x × y, #2 = #1 + 2; result #2`."""
    groups = [(f"loop {n}", group) for n, group in enumerate(layout.groups(), 1)]
    framed = {node for _, group in groups for node in group}
    alone = [n for n in layout.graph if n not in framed and INPUT < n[1] < layout.end[1]]
    groups += [("in no loop", alone), ("dead", [n for n in layout.graph if n[1] == DEAD])]
    names: dict[Value, str] = {}
    for _, group in groups:
        for value, _ in group:
            names.setdefault(value, f"#{len(names) + 1}")

    def line(node: Node) -> str:
        value, name = node[0], names[node[0]]
        if node[1] > min(layout.fusion.loops.get(value, {DEAD})):
            return f"{name} again"
        texts = [names.get(one) or label(one) for one in value.of]
        if value.op == "sum":
            return f"{name} = sum of {texts[0]}"
        return f"{name} = {f' {SIGNS.get(value.op, value.op)} '.join(texts)}"

    parts = [f"{what}: {', '.join(line(n) for n in group)}" for what, group in groups if group]
    return "; ".join([*parts, f"result {names.get(layout.result) or label(layout.result)}"])
