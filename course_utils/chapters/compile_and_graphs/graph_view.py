"""A traced program as a picture: operators, the loops that they fuse into, what is dead."""

import inspect
import textwrap
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import ipywidgets as widgets

from course_utils.chapters.compile_and_graphs.fusion import BYTES, Fusion, Tracer, Value, fuse
from course_utils.chapters.compile_and_graphs.graph_nodes import SIGNS
from course_utils.chapters.compile_and_graphs.graph_nodes import label as label_of
from course_utils.chapters.compile_and_graphs.graph_places import TALL, WIDTH
from course_utils.chapters.compile_and_graphs.graph_scene import Box, Scene
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
LOOP_FACE, LOOP_EDGE = "#EEF5EA", "#9CC48A"
LAST_LINE, TITLE_LINE = 34.0, 24.0  # pixels for the words under the graph, and over it


@style.styled
def draw_graph(title: str, tape: Sequence[Value], result: Value) -> style.Picture:
    """The program from left to right: inputs outlined, operators filled, a frame round each loop.

    Numbers stand in the box of their operator, the left operand of − and / comes in above, and a
    thin arrow is one number. What the result does without is grey, dashed and called dead. Long
    programs go on below, as lines of text do.
    Raises: TypeError for a result that is no value of the tape.
    """
    scene = Scene(tape, result)
    height = scene.places.tops[-1] + LAST_LINE
    figure, axes = style.one_panel(title, 4)
    axes.set(xlim=(0, WIDTH), ylim=(height, 0), aspect="equal", anchor="NW")
    axes.set_axis_off()
    above = TITLE_LINE * len(textwrap.wrap(title, 70)) + 16
    figure.set_size_inches(style.WIDTH_INCHES, (height + above) / style.DPI)
    _draw_frames(axes, scene)
    _draw_strokes(axes, scene)
    for box in scene.boxes:
        _draw_box(axes, box)
    thin = any(not stroke.is_full for stroke in scene.strokes())
    said = passes_in_words(scene.fusion) + (" · a thin arrow: one number" if thin else "")
    axes.text(12, height - LAST_LINE / 2, said, va="center", fontsize=12)
    return style.render(figure, f"{title}: {in_words(scene)}", [said])


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


def in_words(scene: Scene) -> str:
    """The graph for who doesn't see it: `loop 1: #1 = x × y, #2 = #1 + 2; result #2`."""
    names = {value: "" for value in scene.tape if value.of}
    for group in [*scene.loops, list(names)]:
        for value in group:
            names[value] = names[value] or f"#{sum(map(bool, names.values())) + 1}"

    def name(value: Value) -> str:
        return names.get(value) or label_of(value)

    def line(value: Value) -> str:
        texts = [name(one) for one in value.of]
        if value.op == "sum":
            return f"{name(value)} = sum of {texts[0]}"
        return f"{name(value)} = {f' {SIGNS.get(value.op, value.op)} '.join(texts)}"

    framed = {value for group in scene.loops for value in group}
    alone = [value for value in scene.fusion.live if value.of and value not in framed]
    parts = [(f"loop {n}", group) for n, group in enumerate(scene.loops, 1)]
    parts += [("in no loop", alone), ("dead", list(scene.fusion.dead))]
    told = [f"{what}: {', '.join(map(line, values))}" for what, values in parts if values]
    return "; ".join([*told, f"result {name(scene.result)}"])


def _draw_frames(axes: "Axes", scene: Scene) -> None:
    from matplotlib.patches import FancyBboxPatch

    for frame in scene.frames:
        axes.add_patch(
            FancyBboxPatch(
                (frame.left, frame.top),
                frame.right - frame.left,
                frame.bottom - frame.top,
                boxstyle="round,pad=0,rounding_size=8",
                facecolor=LOOP_FACE,
                edgecolor=LOOP_EDGE,
                zorder=0,
            )
        )
        axes.text(frame.left + 7, frame.top + 12, frame.label, va="center", fontsize=10)


def _draw_strokes(axes: "Axes", scene: Scene) -> None:
    """The values' ways under the boxes; those to dead operators dashed."""
    from matplotlib.collections import LineCollection

    strokes = sorted(scene.strokes(), key=lambda stroke: not stroke.is_dead)
    colours = [FAINT if stroke.is_dead else LINE for stroke in strokes]
    lines = LineCollection(
        [stroke.points for stroke in strokes],
        colors=colours,
        linewidths=[2.0 if stroke.is_full else 0.9 for stroke in strokes],
        linestyles=["--" if stroke.is_dead else "-" for stroke in strokes],
        zorder=1,
    )
    axes.add_collection(lines)
    heads = [(one.points[-1], colour) for one, colour in zip(strokes, colours, strict=True)
             if one.has_head]  # fmt: skip
    xs, ys = zip(*(point for point, _ in heads), strict=True)
    axes.scatter([x - 4 for x in xs], ys, s=42, c=[c for _, c in heads], marker=">", zorder=3)


def _draw_box(axes: "Axes", box: Box) -> None:
    from matplotlib.patches import FancyBboxPatch

    kind = "dead" if box.is_dead else box.kind
    ink = "#6B6B6B" if box.is_dead else style.INK
    weight = "bold" if box.kind in ("input", "result") else "normal"
    axes.text(box.x, box.y, box.label, ha="center", va="center", color=ink, weight=weight, zorder=4)
    if box.kind == "result":
        return
    axes.add_patch(
        FancyBboxPatch(
            (box.x - box.width / 2, box.y - TALL / 2),
            box.width,
            TALL,
            boxstyle=f"round,pad=0,rounding_size={4 if box.kind == 'input' else 13}",
            facecolor=FACES[kind],
            edgecolor=EDGES[kind],
            linestyle="--" if box.is_dead else "-",
            linewidth=1.6,
            zorder=2,
        )
    )
    if box.is_dead and box.kind != "input":
        below = box.y + TALL / 2 + 9
        axes.text(box.x, below, "dead", ha="center", va="center", fontsize=9, color=ink)
