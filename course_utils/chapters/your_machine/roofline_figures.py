"""Rooflines, times between their two bounds, and a widget: a layer's point under a GPU's roof."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from textwrap import fill
from typing import Any

import ipywidgets as widgets

from course_utils.chapters.your_machine.roofline import SIZES, Roof, gpu_roof, layer, turning_batch
from course_utils.core.evidence import Series
from course_utils.core.gpus import GPUS, Specs, gpu_specs
from course_utils.figures import alt_text, style
from course_utils.figures.controls import LOOK, Controls, slider

LOWEST, HIGHEST = 0.1, 20_000  # FLOP/byte
HALO = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.5}
Points = Mapping[str, tuple[float, float]]


@dataclass(frozen=True)
class Machine:
    """Bytes/s, one or several roofs in FLOP/s by name, and operators: (FLOP/byte, FLOP/s).

    `kind` is that of the rates' evidence, `points_kind` that of the operators' (if it differs).
    """

    name: str
    kind: str
    bytes_per_s: float
    roofs: Mapping[str, float]
    provenance: str
    points: Points = field(default_factory=dict)
    points_kind: str = ""


# Too near others, or a label.
CROWDED = ("matmul 128", "matmul 256", "matmul 512", "matmul 2048", "matmul 4096")


def recorded_machine(specs: Specs, ran: Series | None) -> Machine:
    """Returns a GPU's data sheet as a roofline, with a recording's operators below it.

    Rows of `ran` have operator, flops, n_bytes and seconds.
    """
    points = {
        row["operator"]: (row["flops"] / row["n_bytes"], row["flops"] / row["seconds"])
        for row in (ran.rows if ran else [])
        if row["operator"] not in CROWDED
    }
    roofs = {"BF16": gpu_roof(specs, "BF16"), "FP32": gpu_roof(specs, "FP32")}
    origins = [f"published: {specs.source}", *([ran.provenance] if ran else [])]
    return Machine(
        specs.title, "published", roofs["FP32"].bytes_per_s,
        {f"data sheet, {name}": roof.flop_per_s for name, roof in roofs.items()},
        "; ".join(origins), points, "recorded",
    )  # fmt: skip


@style.styled
def draw_rooflines(title: str, *machines: Machine) -> style.Picture:
    """Draws one panel a machine, over one scale of FLOP/byte; both axes are logarithmic."""
    figure = style.new_figure(title, 5.8 if len(machines) == 1 else 3.9 * len(machines))
    panels = figure.subplots(len(machines), 1, sharex=True, squeeze=False)[:, 0]
    said = [alt_text.axes("FLOP/byte", "FLOP/s", "xy")]
    for axes, one in zip(panels, machines, strict=True):
        said += _machine(axes, one)
        highest = max(one.roofs.values())
        axes.set(xscale="log", yscale="log", xlim=(LOWEST / 2, HIGHEST), ylim=(None, highest * 5))
        _label_axes(axes)
        axes.label_outer()
    said.append(style.say_origins(figure, [fill(one.provenance, 105) for one in machines]))
    return style.render(figure, title, said, 48)


def _machine(axes: "style.Axes", one: Machine) -> list[str]:
    """Draws one machine's slope, roofs and operators; returns the lines that describe them."""
    colour, live = style.COLOURS[one.kind], one.kind == "live"
    said = [f"{one.name}, {one.kind}: {alt_text.amount(one.bytes_per_s, live)} bytes/s"]
    for name, rate in one.roofs.items():
        roof = Roof(rate, one.bytes_per_s)
        axes.plot([LOWEST / 2, roof.ridge, HIGHEST],
                  [roof.attainable(x) for x in (LOWEST / 2, roof.ridge, HIGHEST)], color=colour,
                  linewidth=2)  # fmt: skip
        ridge = alt_text.amount(roof.ridge, live)
        words = f"{'≈ ' * live}{style.tick(float(f'{rate:.3g}'))}FLOP/s, ridge {roof.ridge:.3g}"
        axes.annotate(f"{name}: {words}", (HIGHEST, rate), (-4, 4), va="bottom", ha="right",
                      textcoords="offset points", color=colour, fontsize=10)  # fmt: skip
        said.append(
            f"  roof, {name}: {alt_text.amount(rate, live)} FLOP/s, ridge {ridge} FLOP/byte"
        )
    first = LOWEST / 2 * 1.15
    slope = f"{one.name}: {'≈ ' * live}{style.tick(float(f'{one.bytes_per_s:.3g}'))}B/s"
    axes.annotate(slope, (first, 7 * one.bytes_per_s), color=colour, fontweight="bold", fontsize=11)
    kind = one.points_kind or one.kind
    near = sorted(x for x, _ in one.points.values())
    for name, (x, y) in one.points.items():
        axes.plot([x], [y], color=style.COLOURS[kind], marker=style.MARKS[kind], markersize=8,
                  zorder=4)  # fmt: skip
        to_left = x * 10 ** (len(name) / 17) > HIGHEST or any(x < one < 2 * x for one in near)
        beside = to_left and not any(0.8 < y / roof < 1.2 for roof in one.roofs.values())
        axes.annotate(name, (x, y), (-9 if to_left else 9, 0 if beside else -5),
                      textcoords="offset points", ha="right" if to_left else "left",
                      va="center" if beside else "top", fontsize=9.5, zorder=2,
                      bbox=HALO)  # fmt: skip
        said.append(alt_text.curve(name, {x: y}, live))
    return said


def _label_axes(axes: "style.Axes") -> None:
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda value, _at: style.tick(value))
        axis.set_minor_formatter("")
    axes.set(xlabel="arithmetic intensity, FLOP/byte", ylabel="FLOP/s")
    axes.grid(True)


@style.styled
def draw_bounds(
    title: str, groups: Mapping[str, tuple[str, Points]], origins: list[str]
) -> style.Picture:
    """Draws operators by T_math and by measured time, in units of T_mem, between max and sum.

    `groups` are (kind of evidence, points) by name; points are (T_math, time), both divided by
    T_mem, by operator.
    """
    figure, axes = style.one_panel(title, 4.9)
    places = [x for _, points in groups.values() for x, _ in points.values()]
    low, high = min(places) / 1.6, max(places) * 2.2
    line = sorted([1.0, *(low * (high / low) ** (k / 80) for k in range(81))])
    axes.fill_between(line, [max(1, x) for x in line], [1 + x for x in line], color="#E8E8E8")
    for bound in ([max(1, x) for x in line], [1 + x for x in line]):
        axes.plot(line, bound, color=style.INK, linewidth=1.2)
    how: dict[str, Any] = {"textcoords": "offset points", "fontsize": 11}
    band = "grey: from max(T_mem, T_math)\nto T_mem + T_math"
    axes.annotate(band, (1, 0), (-12, 14), xycoords="axes fraction", ha="right", **how)
    said = [alt_text.axes("T_math / T_mem", "measured time / T_mem", "xy")]
    for group, (kind, points) in groups.items():
        live, colour = kind == "live", style.COLOURS[kind]
        up = 1 if live else -1  # where the first name of a group is
        x, y = zip(*points.values(), strict=True)
        axes.plot(x, y, color=colour, linestyle="", marker=style.MARKS[kind], label=group,
                  zorder=3 + live)  # fmt: skip
        said.append(f"{group}, {kind}")
        for name, (a, b) in points.items():
            numbers = f"{alt_text.amount(a, live)} of T_mem in arithmetic"
            said.append(f"  {name}: {numbers}, took {alt_text.amount(b, live)}")
        last, raised = (0.0, 0.0), 0  # a name above its point; higher where the last one is near
        for name, at in sorted(points.items(), key=lambda point: point[1]):
            raised = raised + 1 if at[0] < 1.5 * last[0] and at[1] < 1.3 * last[1] else 0
            last = at
            axes.annotate(name, at, (7, 16 * up * (1 + raised)), color=colour, va="center",
                          ha="right", zorder=5, **how)  # fmt: skip
    axes.set(xscale="log", yscale="log", xlim=(low, high), ylim=(0.6, high * 1.5))
    axes.set(xlabel="T_math / T_mem (arithmetic; at least 0.01)")
    axes.set_ylabel("measured time / T_mem")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda value, _at: f"{value:g}")
        axis.set_minor_formatter("")
    axes.legend(loc="upper left", frameon=False, labelcolor="linecolor")
    axes.grid(True)
    said.append(style.say_origins(figure, [fill(origin, 105) for origin in origins]))
    return style.render(figure, title, said, 48)


# ---- The widget.

BATCHES = tuple(2**k for k in range(15))
WIDTHS = tuple(2**k for k in range(6, 15))


def roofline_point() -> Controls:
    """Returns menus of GPUs and dtypes, and sliders for batch and widths, over the roofline."""
    titles = [(specs.title, specs) for specs in GPUS]
    gpus = widgets.Dropdown(options=titles, value=gpu_specs("H100 SXM"), description="GPU", **LOOK)
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
    """Returns the layer's point, and as HTML its resource and the batch at which that changes."""
    roof, size = gpu_roof(specs, dtype), SIZES[dtype]
    work = layer(batch, n_in, n_out, size)
    share = roof.attainable(work.intensity) / roof.flop_per_s
    waits = "compute" if work.intensity >= roof.ridge else "memory"
    turning = turning_batch(n_in, n_out, size, roof.flop_per_s, roof.bytes_per_s)
    when = f"from batch <b>{turning:,}</b> on" if turning else "at <b>no</b> batch"
    title = f"{specs.title}, {dtype}: batch {batch:,} through a layer of {n_in:,} × {n_out:,}"
    name = f"{work.intensity:,.3g} FLOP/byte: at most {share:.0%} of the peak"
    point = {name: (work.intensity, roof.attainable(work.intensity))}
    machine = Machine(specs.title, "published", roof.bytes_per_s, {dtype: roof.flop_per_s},
                      f"published: {specs.source}", point)  # fmt: skip
    return draw_rooflines(title, machine), (
        f"<b>{work.intensity:,.1f} FLOP/byte</b>, ridge {roof.ridge:,.0f}: waits for "
        f"<b>{waits}</b>, at most {share:.0%} of the peak; compute-bound {when}"
    )
