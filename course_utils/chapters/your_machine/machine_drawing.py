"""A GPU and this machine as diagrams, and the rates of their memories and links on one scale."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import fill

from course_utils.chapters.your_machine.inventory import Box, Cache
from course_utils.core.evidence import Series
from course_utils.core.machine import short_name
from course_utils.core.measurement import format_seconds
from course_utils.figures import alt_text, style

UNKNOWN = "unknown"
WIDTH, IN_A_ROW, MOST_ROWS = 10.0, 33, 4
LINE, GAP, OUTSIDE = 0.5, 0.75, 3.2  # of a line of text, a link, and boxes off the chip
INCHES = 0.37  # of a unit of height


@dataclass(frozen=True)
class Level:
    """A memory or a neighbour: its text, and the words beside the link that leads to it."""

    text: str
    link: str = ""


@dataclass(frozen=True)
class Sketch:
    """One panel: `count` equal units, the inside of one of them, and the levels below them.

    The first `on_chip` levels are on the same chip; `kind` is "live" or "published".
    """

    title: str
    kind: str
    units: str
    count: int
    inside: Sequence[str]
    levels: Sequence[Level]
    on_chip: int
    provenance: str = ""


def sketch_cpu(box: Box) -> Sketch:
    """Returns the diagram of this machine, as far as its system reports it."""
    private = [c for c in box.caches if c.count > 1 or c.level == 1]
    shared = [c for c in box.caches if c not in private]
    limit = f", {box.cpu_limit:g} of them for this container" if box.cpu_limit else ""
    inside = [f"L{cache.level} cache: {amount(cache.n_bytes, 1024)}" for cache in private]
    levels = [Level(_shared(cache)) for cache in shared]
    memory = f"memory: {amount(box.memory_bytes)}"
    if box.limit_bytes and box.limit_bytes < box.memory_bytes:
        memory += f", {amount(box.limit_bytes)} for this container"
    levels += [Level(memory, "next figure"), _gpus(box)]
    return Sketch(
        "this machine, live",
        "live",
        f"{box.processor}: {box.cores or UNKNOWN} cores{limit}",
        box.cores or 0,
        inside or ["caches: unknown"],
        levels,
        len(shared),
    )


def _shared(cache: Cache) -> str:
    return f"L{cache.level} cache: {amount(cache.n_bytes, 1024)}"


def _gpus(box: Box) -> Level:
    if not box.gpus:
        return Level("no GPU that torch can use")
    gpu, count = box.gpus[0], len(box.gpus)
    rate = f", {gpu.pcie_gb_per_s:.0f} GB/s" if gpu.pcie_gb_per_s else ""
    links = f"; NVLink {gpu.nvlink_gb_per_s:.0f} GB/s" if gpu.nvlink_gb_per_s else ""
    text = f"{count} × {short_name(gpu.name)}: {gpu.multiprocessors} SMs"
    return Level(f"{text}, {amount(gpu.memory_bytes)}{links}", f"{gpu.pcie or 'link'}{rate}")


def sketch_gpu(anatomy: Series) -> Sketch:
    """Returns the diagram of the GPU whose parts `anatomy` lists (data/published.json)."""
    row = {r["part"]: r for r in anatomy.rows}
    sms = row["SM"]
    inside = [sms["what"]]
    inside += [f"{name}: {row[name]['what']}" for name in ("registers", "L1 cache, shared memory")]
    names = ("L2 cache", "memory", "NVLink", "PCIe 5 x16")
    levels = [
        Level(f"{name}: {row[name]['what']}", f"{rate:,} GB/s" if rate else "")
        for name, rate in ((name, row[name]["gb_per_s"]) for name in names)
    ]
    return Sketch(
        "H100, published", "published", f"{sms['count']} SMs (streaming multiprocessors)",
        sms["count"], inside, levels, 1, anatomy.provenance,
    )  # fmt: skip


def amount(n_bytes: float, base: int = 1000) -> str:
    """`25.3 GB` with base 1000, `32 MiB` with base 1024."""
    units = ("B", "KiB", "MiB", "GiB") if base == 1024 else ("B", "kB", "MB", "GB", "TB")
    power = min(int(math.log(n_bytes, base)), len(units) - 1) if n_bytes >= 1 else 0
    return f"{n_bytes / base**power:.3g} {units[power]}"


@style.styled
def draw_box(title: str, *sketches: Sketch) -> style.Picture:
    """Draws one panel a machine, side by side: units at the top, further levels below."""
    figure = style.new_figure(title, 4)
    panels = figure.subplots(1, len(sketches), squeeze=False)[0]
    depth = max(_panel(axes, one) for axes, one in zip(panels, sketches, strict=True))
    for axes in panels:
        axes.set_ylim(-depth - 0.1, 0.1)
    figure.set_size_inches(style.WIDTH_INCHES, 1.3 + INCHES * depth)
    said = [line for one in sketches for line in _told(one)]
    said.append(style.say_origins(figure, [fill(one.provenance, 105) for one in sketches]))
    return style.render(figure, title, said, 24)


def _told(one: Sketch) -> Iterator[str]:
    """A machine in lines; a live one in one line, which differs from reader to reader."""
    links = [f"{level.text}{f' ({level.link})' if level.link else ''}" for level in one.levels]
    lines = [one.units, f"each: {'; '.join(one.inside)}", *links]
    if one.kind == "live":
        yield f"{one.title}: {alt_text.local('; '.join(lines))}"
    else:
        yield from (one.title, *(f"  {line}" for line in lines))


def _panel(axes: "style.Axes", one: Sketch) -> float:
    """Draws a machine downwards from 0 and returns its depth."""
    colour = style.COLOURS[one.kind]
    axes.set_axis_off()
    axes.set_xlim(0, WIDTH)
    axes.set_title(one.title, loc="left", color=colour, fontsize=12, fontweight="bold")
    y = _text(axes, one.units, 0.3, -0.15, 44)
    y = _squares(axes, one.count, y, colour)
    inside = [line for text in one.inside for line in fill(text, 40).splitlines()]
    height = LINE * len(inside) + 0.3
    _frame(axes, 0.5, y - height - 0.25, WIDTH - 1, height, "#FFFFFF", 4)
    y = _text(axes, "\n".join(inside), 0.75, y - 0.35, 60) - 0.2
    for level in one.levels[: one.on_chip]:
        axes.plot([1.6, 1.6], [y, y - GAP], color=colour, linewidth=3, zorder=3)
        axes.text(1.85, y - GAP / 2, level.link, va="center", fontsize=9.5, zorder=5)
        y = _box(axes, level.text, 0.5, y - GAP, 40)
    edge = y = y - 0.15
    _frame(axes, 0, edge, WIDTH, -edge, style.shade(colour, 2, 3), 0)
    for level in one.levels[one.on_chip :]:
        top, y = y - 0.25, _box(axes, level.text, OUTSIDE, y - 0.25, 30)
        axes.plot([0.5, 0.5, OUTSIDE + 0.1], [edge, top - 0.4, top - 0.4], color=colour,
                  linewidth=3, zorder=3)  # fmt: skip
        axes.text(0.7, top - 0.35, level.link, va="bottom", fontsize=9.5, zorder=5)
    return -y


def _box(axes: "style.Axes", text: str, left: float, top: float, width: int) -> float:
    """Draws a text in a box below `top` that begins at `left`; returns where it ends."""
    lines = fill(text, width)
    height = LINE * (lines.count("\n") + 1) + 0.3
    right = 0.5 if left < 1 else 0.0
    _frame(axes, left, top - height, WIDTH - left - right, height, "#FFFFFF", 4)
    _text(axes, lines, left + 0.25, top - 0.12, width)
    return top - height


def _squares(axes: "style.Axes", count: int, y: float, colour: str) -> float:
    """Draws a square a unit below y, the first one dark; returns the new y."""
    shown = min(count, IN_A_ROW * MOST_ROWS)
    side = (WIDTH - 0.6) / IN_A_ROW if shown > 8 else 0.6
    rows = -(-shown // IN_A_ROW)
    for place in range(shown):
        left, top = 0.3 + place % IN_A_ROW * side, y - 0.1 - place // IN_A_ROW * side * 1.3
        face = style.INK if place == 0 else colour
        axes.bar([left], [side * 1.1], side * 0.85, bottom=top - side * 1.1, color=face,
                 align="edge", zorder=4)  # fmt: skip
    bottom = y - 0.1 - rows * side * 1.3
    if shown:
        axes.plot([0.3 + side / 2] * 2, [bottom, bottom - 0.3], color=style.INK, linewidth=1.2,
                  zorder=3)  # fmt: skip
    return bottom


def _text(axes: "style.Axes", text: str, x: float, y: float, width: int) -> float:
    """Writes lines below y and returns where they end."""
    lines = [line for part in text.splitlines() for line in fill(part, width).splitlines()]
    for place, line in enumerate(lines):
        axes.text(x, y - place * LINE, line, va="top", fontsize=9.5, zorder=5)
    return y - LINE * len(lines)


def _frame(
    axes: "style.Axes", x: float, y: float, width: float, height: float, face: str, zorder: int
) -> None:
    look = {"facecolor": face, "edgecolor": "#999999", "zorder": zorder - 1}
    style.round_box(axes, (x + 0.05, y), width - 0.1, height, 0.15, **look)


@style.styled
def draw_rates(
    title: str, rates: Mapping[str, tuple[float, str]], n_bytes: float, origins: Sequence[str]
) -> style.Picture:
    """Draws memories and links by their GB/s on one logarithmic scale, the fastest at the top.

    `rates` are (GB/s, kind of evidence) by name; beside each is the time that `n_bytes` take. Live
    ones, of another machine, are below a line.
    """
    figure, axes = style.one_panel(title, 1.5 + 0.36 * len(rates))
    order = sorted(rates, key=lambda name: (rates[name][1] == "live", -rates[name][0]))
    apart = sum(kind != "live" for _, kind in rates.values())
    axes.axhline(apart - 0.5, color="#999999", linewidth=1, linestyle="--")
    low = min(rate for rate, _ in rates.values()) / 3
    said = ["x: GB/s (10⁹ bytes a second), logarithmic"]
    for row, name in enumerate(order):
        rate, kind = rates[name]
        live, colour = kind == "live", style.COLOURS[kind]
        took = format_seconds(n_bytes / rate / 1e9)
        number = alt_text.amount(rate, live) if live else f"{rate:,}"
        words = f"{number} GB/s: {took if live else took.removeprefix('≈ ')}"
        axes.plot([low, rate], [row, row], color=colour, linewidth=2)
        axes.plot([rate], [row], color=colour, marker=style.MARKS[kind], markersize=9)
        style.write_beside(axes, f" {words}", rate, row)
        said.append(f"  {name}, {kind}: {words} for {amount(n_bytes)}")
    style.name_rows(axes, order)
    highest = max(rate for rate, _ in rates.values())
    axes.set(xscale="log", xlim=(low, highest * 60))
    rates_are = "GB/s (of a copy within a memory: bytes read and written)"
    axes.set_xlabel(f"{rates_are},\nand the time that {amount(n_bytes)} take at this rate")
    axes.xaxis.set_major_formatter(lambda value, _at: style.tick(value))
    said.append(style.say_origins(figure, [fill(origin, 105) for origin in origins]))
    return style.render(figure, title, said, 64)
