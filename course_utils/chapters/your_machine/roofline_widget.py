"""A widget: a GPU, a linear layer and a dtype; its point moves under the GPU's roof."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from operator import add
from textwrap import fill
from typing import TYPE_CHECKING, Any

import ipywidgets as widgets

from course_utils.chapters.your_machine.operations import Work
from course_utils.chapters.your_machine.roofline import SIZES, Roof, gpu_roof, layer, turning_batch
from course_utils.core.evidence import Series
from course_utils.core.gpus import GPUS, Specs, gpu_specs
from course_utils.core.measurement import Measurement
from course_utils.figures import style, told
from course_utils.figures.controls import LOOK, Controls, slider
from course_utils.figures.guess_line import draw_guess

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# ---- A roofline drawn, with operators under it; and their times in parts.

Times = Mapping[str, float | Measurement]
PART_COLOURS = dict(zip(("memory", "math", "latency"), style.OTHER_KINDS, strict=False))
LABELS = {"memory": "T_mem", "math": "T_math", "latency": "latency"}
LOWEST, HIGHEST = 0.1, 5000  # FLOP/byte
LEFT_COLUMN = 5


@dataclass(frozen=True)
class Panel:
    """A roof with points below it: name → (FLOP/byte, FLOP/s)."""

    roof: Roof
    points: Mapping[str, tuple[float, float]]
    kind: str
    provenance: str


def measured_panel(roof: Roof, works: Mapping[str, Work], times: Times) -> Panel:
    """Live: each operator at its intensity, and at the FLOP/s it reached."""
    live = Series.of(times)
    points = {n: (w.intensity, w.flops / live.values[n]) for n, w in works.items() if w.flops}
    return Panel(roof, points, "live", live.provenance)


def recorded_panel(
    points: Series | None, rates: Series | None, streams: Series | None
) -> Panel | None:
    """A recorded machine's: its operators, under the rate of its products in their format.

    Rows of operator, format, flops, n_bytes and seconds; of format and flop_per_s; of gb_per_s.
    None unless all three were recorded.
    """
    if not points or not rates or not streams:
        return None
    used = points.rows[0]["format"]
    peak = max(row["flop_per_s"] for row in rates.rows if row["format"] == used)
    places = {
        row["operator"]: (row["flops"] / row["n_bytes"], row["flops"] / row["seconds"])
        for row in points.rows
    }
    roof = Roof(peak, max(streams.column("gb_per_s")) * 1e9)
    return Panel(roof, places, "recorded", points.provenance)


def published_panel(roof: Roof, works: Mapping[str, Work], source: str) -> Panel:
    """No measurement: where the roof of a data sheet would let each operator come at most."""
    points = {n: (w.intensity, roof.attainable(w.intensity)) for n, w in works.items()}
    origin = f"published: {source}; the marks are the most it allows"
    return Panel(roof, points, "published", origin)


@style.styled
def draw_rooflines(title: str, *panels: Panel) -> style.Picture:
    """One panel a machine, side by side, both axes logarithmic and each with its own FLOP/s."""
    figure = style.new_figure(title, 4.9)
    places = figure.subplots(1, len(panels), squeeze=False)[0]
    said = [told.axes("FLOP/byte", "FLOP/s", "xy")]
    for axes, panel in zip(places, panels, strict=True):
        live = panel.kind == "live"
        said += [panel.kind, draw_roof(axes, panel.roof, style.COLOURS[panel.kind], live)]
        said += sorted(told.curve(name, {x: y}, live) for name, (x, y) in panel.points.items())
        reached = [rate for _, rate in panel.points.values()]
        axes.set_ylim(bottom=min([axes.get_ylim()[0], *(rate / 5 for rate in reached)]))
        _points(axes, panel)
        axes.set_title(panel.kind, loc="left", color=style.COLOURS[panel.kind], fontweight="bold")
    said.append(style.say_origins(figure, [fill(panel.provenance, 110) for panel in panels]))
    return style.render(figure, title, said, 32)


def draw_roof(axes: "Axes", roof: Roof, colour: str, live: bool) -> str:
    """The slope of the memory, the flat roof, and the ridge between them; `live` if measured.

    Gives the line that tells it.
    """
    ends = (LOWEST, roof.ridge, HIGHEST)
    axes.plot(ends, [roof.attainable(x) for x in ends], color=colour, linewidth=2.5)
    axes.set(xscale="log", yscale="log", xlim=(LOWEST, HIGHEST))
    axes.set_ylim(roof.attainable(LOWEST) / 3, roof.flop_per_s * 4)
    _write_ticks(axes)
    axes.set(xlabel="FLOP/byte", ylabel="FLOP/s")
    axes.axvline(roof.ridge, color=style.INK, linewidth=0.8, linestyle=":")
    note = f"ridge {'≈ ' if live else ''}{roof.ridge:.0f}"
    axes.annotate(note, (roof.ridge, roof.flop_per_s * 2.2), (4, 0), textcoords="offset points",
                  fontsize=10)  # fmt: skip
    slope, flat = (told.amount(x, live) for x in (roof.bytes_per_s, roof.flop_per_s))
    return f"  roof: {slope} bytes/s, {flat} FLOP/s, {note}"


def _write_ticks(axes: "Axes") -> None:
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda value, _at: style.tick(value))
        axis.set_minor_formatter("")
    axes.grid(True)


def _points(axes: "Axes", panel: Panel) -> None:
    """Marks, with their names in a column for those left of 5 FLOP/byte and in one for the rest."""
    colour, low, high = style.COLOURS[panel.kind], *axes.get_ylim()
    for column in (0.34, 0.6):
        is_left = column < 0.5
        group = [p for p in panel.points.items() if (p[1][0] < LEFT_COLUMN) == is_left]
        last = 1.0
        for name, (x, y) in sorted(group, key=lambda point: -point[1][1]):
            last = min(math.log(y / low) / math.log(high / low) - 0.09, last - 0.06)
            axes.plot([x], [y], color=colour, marker=style.MARKS[panel.kind])
            axes.annotate(
                name, (x, y), (column, last), textcoords="axes fraction", va="center", fontsize=10,
                arrowprops={"arrowstyle": "-", "color": "#AAAAAA", "linewidth": 0.7},
                bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.5},
            )  # fmt: skip


@style.styled
def draw_sweep(title: str, sweep: Series, sheets: Mapping[str, Roof]) -> style.Picture:
    """One kernel at growing FLOP/byte: FLOP/s under each GPU's data sheet, and the watts meanwhile.

    Rows of gpu, flop_per_byte, gflop_per_s and watts; `sheets` are the roofs by gpu.
    """
    figure = style.new_figure(title, 6.2)
    rates, power = figure.subplots(2, 1, sharex=True, gridspec_kw={"height_ratios": (3, 2)})
    grey, mark = style.COLOURS["published"], style.MARKS["published"]
    said = ["x: FLOP/byte, logarithmic · FLOP/s, logarithmic, and watts"]
    for place, (gpu, roof) in enumerate(sheets.items()):
        rows, colour = [r for r in sweep.rows if r["gpu"] == gpu], style.shade(grey, place, 3)
        reached = {row["flop_per_byte"]: row["gflop_per_s"] * 1e9 for row in rows}
        sheet = {at: roof.attainable(at) for at in reached}
        watts = {row["flop_per_byte"]: row["watts"] for row in rows}
        for what, curve in (("FLOP/s", reached), ("data sheet", sheet), ("watts", watts)):
            said.append(told.curve(f"{gpu}, {what}", curve))
        for axes, curve in ((rates, reached), (power, watts)):
            x, y = list(curve), list(curve.values())
            axes.plot(x, y, color=colour, marker=mark, markersize=5, linestyle=":")
            axes.annotate(gpu, (x[-1], y[-1]), (8, 0), textcoords="offset points", color=colour,
                          va="center", annotation_clip=False)  # fmt: skip
        rates.plot(list(sheet), list(sheet.values()), color=colour, linewidth=1)
    rates.set_yscale("log")
    for axes, label in ((rates, "FLOP/s (line: data sheet)"), (power, "watts")):
        axes.set(xscale="log", ylabel=label)
        _write_ticks(axes)
    power.set(ylim=(0, None), xlabel="FLOP/byte")
    said.append(style.say_origins(figure, [sweep.provenance]))
    return style.render(figure, title, said, 24)


@style.styled
def draw_parts(
    title: str, roof: Roof, works: Mapping[str, Work], times: Times, guess: str = ""
) -> style.Picture:
    """T_mem, T_math and latency of each operator as shares of its measured time, which is 1.

    A bar that ends at 1 predicted its time by the sum; a tick stands where the maximum form ends.
    `guess` is the id of a question whose answers are operators: those chosen get a mark.
    """
    live = Series.of(times)
    names = list(live.values)
    rows = range(len(names))
    figure, axes = style.one_panel(title, 1.6 + 0.42 * len(names))
    shares = [
        {part: seconds / live.values[name] for part, seconds in roof.parts(works[name]).items()}
        for name in names
    ]
    sums = [0.0] * len(names)
    for part, colour in PART_COLOURS.items():
        each = [share[part] for share in shares]
        axes.barh(rows, each, left=sums, height=0.66, color=colour, label=LABELS[part])
        sums = list(map(add, sums, each))
    most = [roof.max_seconds(works[name]) / live.values[name] for name in names]
    axes.vlines(most, [y - 0.33 for y in rows], [y + 0.33 for y in rows], style.INK, linewidth=1.5)
    axes.axvline(1, color=style.INK, linewidth=1.5)
    style.name_rows(axes, names)
    axes.set_xlim(0, max(1.35, axes.get_xlim()[1]))
    axes.set_xlabel("predicted / measured time (tick: max instead of sum)")
    axes.legend(
        loc="lower left", bbox_to_anchor=(0, 1), ncols=3, frameon=False, handlelength=0.7,
        borderpad=0, labelcolor="linecolor", prop={"weight": "bold"},
    )  # fmt: skip
    said = ["x: predicted / measured time; a line at 1"]
    for name, share, total, maximum in zip(names, shares, sums, most, strict=True):
        end = f"{told.amount(total, True)} as a sum, {told.amount(maximum, True)} as a maximum"
        named = {LABELS[part]: size for part, size in share.items()}
        said.append(told.stack(name, named, end, live=True))
    said.append(draw_guess(axes, guess, "", rows=names))
    said.append(style.say_origins(figure, [live.provenance]))
    return style.render(figure, title, said, 24)


BATCHES = tuple(2**k for k in range(15))
WIDTHS = tuple(2**k for k in range(6, 15))


def roofline_point() -> Controls:
    """Menus of GPUs and dtypes, sliders for batch and widths, over the roofline by data sheet."""
    titles = [(specs.title, specs) for specs in GPUS]
    gpus = widgets.Dropdown(options=titles, value=gpu_specs("H200"), description="GPU", **LOOK)
    kinds = widgets.Dropdown(options=dtypes(gpus.value), value="BF16", description="dtype", **LOOK)

    def offer_dtypes(change: Any) -> None:
        offered, wanted = dtypes(change["new"]), kinds.value
        if tuple(offered) != kinds.options:
            kinds.options = offered
            kinds.value = wanted if wanted in offered else offered[0]

    gpus.observe(offer_dtypes, "value")
    return Controls(
        draw_layer,
        "Choose a GPU and a layer's shape: its point climbs the roof with the batch",
        specs=gpus,
        dtype=kinds,
        batch=slider("batch", BATCHES, 64),
        n_in=slider("numbers in", WIDTHS, 4096),
        n_out=slider("numbers out", WIDTHS, 4096),
    )


def dtypes(specs: Specs) -> list[str]:
    """The dtypes that a GPU has units for."""
    return [name for name in SIZES if getattr(specs, name.lower()) is not None]


def draw_layer(
    specs: Specs, dtype: str, batch: int, n_in: int, n_out: int
) -> tuple[style.Picture, str]:
    """The layer's point, and as HTML what it waits for and the batch at which that turns."""
    roof, size = gpu_roof(specs, dtype), SIZES[dtype]
    work = layer(batch, n_in, n_out, size)
    share = roof.attainable(work.intensity) / roof.flop_per_s
    waits = "compute" if work.intensity >= roof.ridge else "memory"
    turning = turning_batch(n_in, n_out, size, roof.flop_per_s, roof.bytes_per_s)
    when = f"from batch <b>{turning:,}</b> on" if turning else "at <b>no</b> batch"
    return draw_point(specs, roof, work, dtype), (
        f"<b>{work.intensity:,.1f} FLOP/byte</b>, ridge {roof.ridge:,.0f}: waits for "
        f"<b>{waits}</b>, at most {share:.0%} of the peak; compute-bound {when}"
    )


@style.styled
def draw_point(specs: Specs, roof: Roof, work: Work, dtype: str) -> style.Picture:
    """The roof, and the point that a layer reaches at most."""
    title = f"{specs.title}, {dtype}: {work.intensity:,.1f} FLOP/byte"
    figure, axes = style.one_panel(title, 4)
    said = [told.axes("FLOP/byte", "FLOP/s", "xy")]
    said.append(draw_roof(axes, roof, style.COLOURS["published"], live=False))
    x, y = work.intensity, roof.attainable(work.intensity)
    axes.plot([x, x], [axes.get_ylim()[0], y], color=style.INK, linewidth=1, linestyle="--")
    axes.plot([x], [y], color="#009E73", marker="o", markersize=12)
    note = f"at most {y / 1e12:.3g} TFLOP/s"
    side = (14, -4) if x < 100 else (-14, -22)
    axes.annotate(note, (x, y), side, textcoords="offset points", va="center", fontsize=12,
                  ha="left" if x < 100 else "right")  # fmt: skip
    said += [f"  the layer at {x:.3g} FLOP/byte: {note}"]
    said.append(style.say_origins(figure, [f"published: {specs.source}"]))
    return style.render(figure, title, said)
