"""A traced program as a picture: operators, the loops that they fuse into, what is dead."""

import inspect
import textwrap
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import ipywidgets as widgets

from course_utils.chapters.compile_and_graphs.fusion import BYTES, Fusion, Tracer, Value, fuse
from course_utils.chapters.compile_and_graphs.graph_layout import (
    RESULT,
    SIGNS,
    TALL,
    WIDTH,
    Layout,
    Node,
    Point,
    width,
)
from course_utils.chapters.compile_and_graphs.graph_layout import label as label_of
from course_utils.chapters.compile_and_graphs.typed_program import typed_program
from course_utils.chapters.your_machine.inventory import look
from course_utils.chapters.your_machine.machine_drawing import amount
from course_utils.figures import style
from course_utils.figures.controls import LOOK, Controls, slider

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FACES = {"input": "#FFFFFF", "operator": "#CFE8F7", "sum": "#F8DDB0", "dead": "#FAFAFA"}
EDGES = {"input": "#555555", "operator": "#56B4E9", "sum": "#E69F00", "dead": "#8C8C8C"}
LINE, FAINT = "#555555", "#A8A8A8"
POWERS = dict(zip(range(3, 10), "³⁴⁵⁶⁷⁸⁹", strict=True))
UNTOLD_CACHE = 64e6  # bytes, where a system doesn't tell
LAST_LINE, TITLE_LINE = 34.0, 24.0  # pixels for the words under the graph, and over it


@style.styled
def draw_graph(title: str, tape: Sequence[Value], result: Value) -> style.Picture:
    """The program from left to right: inputs outlined, operators filled, a frame round each loop.

    Numbers stand in the box of their operator, the left operand of − and / comes in above, and a
    thin arrow is one number. What the result does without is grey, dashed and called dead. Long
    programs go on below, as lines of text do.
    Raises: TypeError for a result that is no value of the tape.
    """
    layout = Layout(tape, result)
    height = layout.tops[-1] + LAST_LINE
    figure, axes = style.one_panel(title, 4)
    axes.set(xlim=(0, WIDTH), ylim=(height, 0), aspect="equal", anchor="NW")
    axes.set_axis_off()
    above = TITLE_LINE * len(textwrap.wrap(title, 70)) + 16
    figure.set_size_inches(style.WIDTH_INCHES, (height + above) / style.DPI)
    _draw_frames(axes, layout)
    thin = _draw_arrows(axes, layout)
    for node in layout.column:
        _draw_box(axes, layout, node)
    said = passes_in_words(layout.fusion) + (" · a thin arrow: one number" if thin else "")
    axes.text(12, height - LAST_LINE / 2, said, va="center", fontsize=12)
    return style.render(figure, f"{title}: {in_words(layout)}", [said])


def graph_widget(trace: Tracer, programs: Mapping[str, Callable[..., Any]]) -> Controls:
    """A program chosen, or typed as an expression of x, y and z, as a graph with its bytes.

    `trace` is the page's tracer; it is given each program with the names of its parameters, but
    for those that have a default.
    Raises: ValueError without a program.
    """
    if not programs:
        raise ValueError("The widget needs a program to begin with.")
    program = widgets.Dropdown(options=list(programs), description="program", **LOOK)
    typed = widgets.Text(
        description="or your own",
        placeholder="of x, y and z: x / x.sum()",
        continuous_update=False,
        **LOOK,
    )
    program.observe(lambda _change: typed.set_trait("value", ""), "value")
    sizes = [(f"10{POWERS[power]}", 10**power) for power in POWERS]
    return Controls(
        _Explorer(trace, programs).draw,
        "A program as a graph: its loops, and its bytes before and after they are fused",
        program=program,
        typed=typed,
        elements=slider("elements", sizes, 10**7),
    )


class _Explorer:
    """Draws a program; where one can't be traced, says so under the last that could."""

    def __init__(self, trace: Tracer, programs: Mapping[str, Callable[..., Any]]) -> None:
        self._trace, self._programs = trace, programs
        self._shown: style.Picture | None = None
        caches = [cache.count * cache.n_bytes for cache in look().caches]
        self._cache_bytes = max(caches, default=UNTOLD_CACHE)

    def draw(self, program: str, typed: str, elements: int) -> tuple[style.Picture, str]:
        try:
            tape, result = self._traced(program, typed)
            self._shown = draw_graph(typed.strip() or program, tape, result)
        except Exception as error:  # whatever a reader's own function raises
            if self._shown is None:
                raise
            return self._shown, f"✗ {escape(str(error))}"
        return self._shown, bytes_in_words(fuse(tape, result), elements, self._cache_bytes)

    def _traced(self, program: str, typed: str) -> tuple[Sequence[Value], Value]:
        if typed.strip():
            return self._trace(*typed_program(typed))
        function = self._programs[program]
        parameters = inspect.signature(function).parameters.values()
        return self._trace(function, [one.name for one in parameters if one.default is one.empty])


def bytes_in_words(fusion: Fusion, n: int, cache_bytes: float) -> str:
    """Passes and bytes of `n` elements before and after, and the bound on the speed-up, as HTML.

    Where all tensors together fit into a cache, bytes say nothing of the time.
    """
    said = (
        f"one by one <b>{_passes(fusion.passes_eager)}</b>, {amount(fusion.bytes_eager(n))} · "
        f"fused <b>{_passes(fusion.passes_fused)}</b>, {amount(fusion.bytes_fused(n))} · "
    )
    if BYTES * n * len(fusion.full) <= cache_bytes:
        return said + "all of it fits into this machine's caches: that says nothing of the time"
    if fusion.bound == 1:
        return said + "fusing saves no pass"
    return said + f"where memory sets the time, at most <b>{fusion.bound:.3g}×</b> as fast"


def _passes(count: int) -> str:
    return f"{count} pass{'' if count == 1 else 'es'}"


def passes_in_words(fusion: Fusion) -> str:
    """How often memory is passed over, before and after."""
    eager, fused = fusion.passes_eager, fusion.passes_fused
    return f"one by one: {_passes(eager)} over memory; fused: {fused}"


def in_words(layout: Layout) -> str:
    """The graph for who doesn't see it: `loop 1: #1 = x × y, #2 = #1 + 2; result #2`."""
    names = {value: "" for value in layout.tape if value.of}
    for group in [*layout.loops, list(names)]:
        for value in group:
            names[value] = names[value] or f"#{sum(map(bool, names.values())) + 1}"

    def name(value: Value) -> str:
        return names.get(value) or label_of(value)

    def line(value: Value) -> str:
        texts = [name(one) for one in value.of]
        if value.op == "sum":
            return f"{name(value)} = sum of {texts[0]}"
        return f"{name(value)} = {f' {SIGNS.get(value.op, value.op)} '.join(texts)}"

    framed = {value for group in layout.loops for value in group}
    alone = [value for value in layout.fusion.live if value.of and value not in framed]
    parts = [(f"loop {n}", group) for n, group in enumerate(layout.loops, 1)]
    parts += [("in no loop", alone), ("dead", list(layout.fusion.dead))]
    told = [f"{what}: {', '.join(map(line, values))}" for what, values in parts if values]
    return "; ".join([*told, f"result {name(layout.result)}"])


def _draw_frames(axes: "Axes", layout: Layout) -> None:
    look = {"facecolor": "#EEF5EA", "edgecolor": "#9CC48A", "zorder": 0}
    for name, corner, wide, tall in layout.frames():
        _draw_round(axes, corner, wide, tall, 8, **look)
        axes.text(corner[0] + 7, corner[1] + 12, name, va="center", fontsize=10)


def _draw_arrows(axes: "Axes", layout: Layout) -> bool:
    """Those to dead operators are dashed. Gives whether one is thin."""
    from matplotlib.patches import FancyArrowPatch

    arrows = list(layout.arrows())
    for source, node, path in arrows:
        is_dead, is_full = node in layout.low, source in layout.fusion.full
        arrow = FancyArrowPatch(
            path=path,
            arrowstyle="-|>,head_length=6,head_width=2.8",
            mutation_scale=1.2,
            color=FAINT if is_dead else LINE,
            linewidth=2.0 if is_full else 0.9,
            linestyle="--" if is_dead else "-",
            zorder=1 if is_dead else 1.5,
        )
        axes.add_patch(arrow)
    return any(source not in layout.fusion.full for source, _, _ in arrows)


def _draw_box(axes: "Axes", layout: Layout, node: Node) -> None:
    x, y = layout.middle((node, layout.column[node]))
    is_dead, is_input = node in layout.low, node != RESULT and not node.of
    ink = "#6B6B6B" if is_dead else style.INK
    weight = "bold" if is_input or node == RESULT else "normal"
    axes.text(x, y, label_of(node), ha="center", va="center", color=ink, weight=weight, zorder=4)
    if node == RESULT:
        return
    kind = "dead" if is_dead else "input" if is_input else "sum" if node.op == "sum" else "operator"
    wide, line = width(node), "--" if is_dead else "-"
    corner = x - wide / 2, y - TALL / 2
    look = {"facecolor": FACES[kind], "edgecolor": EDGES[kind], "linestyle": line}
    _draw_round(axes, corner, wide, TALL, 4 if is_input else 13, linewidth=1.6, zorder=2, **look)
    if is_dead and not is_input:
        below = y + TALL / 2 + 9
        axes.text(x, below, "dead", ha="center", va="center", fontsize=9, color=ink)


def _draw_round(
    axes: "Axes", corner: Point, wide: float, tall: float, radius: float, **look: Any
) -> None:
    """A rectangle with rounded corners."""
    from matplotlib.patches import FancyBboxPatch

    boxstyle = f"round,pad=0,rounding_size={radius}"
    axes.add_patch(FancyBboxPatch(corner, wide, tall, boxstyle=boxstyle, **look))
