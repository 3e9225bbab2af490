"""A machine as a diagram: the processor with its cores and caches, and what hangs on its buses."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import TYPE_CHECKING

from course_utils.chapters.your_machine.inventory import Box
from course_utils.core.evidence import Series
from course_utils.core.machine import short_name
from course_utils.figures import style, told

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SPINE, LEFT, WIDTH = 0.35, 3.5, 6.4  # of a panel 10 wide: the bus, where boxes begin, their width
MOST_SQUARES = 28
UNIT_INCHES = 0.44
NOT_TOLD = "not told"
HOST_MEMORY = "processor's memory"


@dataclass(frozen=True)
class Branch:
    """A part, the way to it, and that way's GB/s in one direction (None: not told)."""

    part: str
    way: str
    gb_per_s: float | None = None
    squares: int = 0
    between: str = ""  # what joins the squares with each other


@dataclass(frozen=True)
class Sketch:
    """What one panel shows; `kind` is "live" or "published"."""

    title: str
    kind: str
    processor: str
    cores: int
    caches: tuple[tuple[str, float], ...]  # in words, and the share of the width it takes
    branches: tuple[Branch, ...]
    provenance: str = ""


def sketch(box: Box) -> Sketch:
    """This machine, as far as its system tells."""
    sockets = f"{box.sockets} × " if box.sockets and box.sockets > 1 else ""
    cores = f"{box.cores} cores" if box.cores else f"cores {NOT_TOLD}"
    limit = f", {box.cpu_limit:g} of them for this container" if box.cpu_limit else ""
    return Sketch(
        "this machine, live",
        "live",
        f"{sockets}{box.processor}\n{cores}, {box.threads} threads{limit}",
        box.cores or 0,
        _caches(box),
        (_memory(box), _disk(box), _network(box), _gpus(box)),
    )


def _caches(box: Box) -> tuple[tuple[str, float], ...]:
    """A bar a cache: each doubling of all its bytes makes it a step wider."""
    most = max((c.count * c.n_bytes for c in box.caches), default=1)
    shares = [1 - 0.04 * math.log2(most / (c.count * c.n_bytes)) for c in box.caches]
    words = [f"L{c.level}: {c.count} × {amount(c.n_bytes, 1024)}" for c in box.caches]
    return tuple(zip(words, shares, strict=True)) or (("caches: this system doesn't tell", 1.0),)


def _memory(box: Box) -> Branch:
    limited = box.limit_bytes and box.limit_bytes < box.memory_bytes
    limit = f", {amount(box.limit_bytes or 0)} for this container" if limited else ""
    return Branch(f"memory: {amount(box.memory_bytes)}{limit}", "section 3\nmeasures it")


def _disk(box: Box) -> Branch:
    found = [f"{disk.kind} {disk.name}, {amount(disk.n_bytes)}" for disk in box.disks]
    return Branch(f"disk: {_first(found)}", "")


def _network(box: Box) -> Branch:
    speed = max(filter(None, box.networks.values()), default=None)
    way = _rate(speed) if box.networks else ""
    return Branch(f"network: {_first(list(box.networks))}", way, speed)


def _gpus(box: Box) -> Branch:
    if not box.gpus:
        return Branch("no GPU that torch can use", "")
    gpu, count = box.gpus[0], len(box.gpus)
    between = f"NVLink, {gpu.nvlink_gb_per_s:.0f} GB/s each" if gpu.nvlink_gb_per_s else ""
    way = f"{gpu.pcie or 'link'}\n{_rate(gpu.pcie_gb_per_s)}"
    text = f"{count} × {short_name(gpu.name)}, {amount(gpu.memory_bytes)}"
    return Branch(text, way, gpu.pcie_gb_per_s, count, between)


def _first(found: Sequence[str], most: int = 3) -> str:
    more = f" and {len(found) - most} more" if len(found) > most else ""
    return ("; ".join(found[:most]) or NOT_TOLD) + more


def _rate(gb_per_s: float | None) -> str:
    return f"{gb_per_s:.3g} GB/s" if gb_per_s else f"GB/s {NOT_TOLD}"


def sketch_server(server: Series) -> Sketch:
    """The published GPU server of data/published.json."""
    row = {r["part"]: r for r in server.rows}

    def branch(name: str, way: str = "", part: str = "") -> Branch:
        found = row[name]
        text = part or f"{name}: {found['count']} × {found['what']}"
        rate = found["gb_per_s"]
        return Branch(text, "\n".join(filter(None, (way, rate and f"{rate:g} GB/s"))), rate)

    gpus, link = branch("PCIe 5 x16", "PCIe 5 x16"), row["NVLink"]
    memory = row["GPU memory"]
    text = f"{memory['count']} GPUs, each {memory['what']}, {memory['gb_per_s']:,} GB/s"
    return Sketch(
        "DGX H200, published",
        "published",
        f"{row['processor']['count']} × {row['processor']['what']}",
        0,
        (),
        (
            branch(HOST_MEMORY, "each", f"memory: {row[HOST_MEMORY]['what']}"),
            branch("disk"),
            branch("network card", "each"),
            Branch(text, gpus.way, gpus.gb_per_s, memory["count"],
                   f"NVLink, {link['gb_per_s']} GB/s each one way"),
        ),
        server.provenance,
    )  # fmt: skip


def amount(n_bytes: float, base: int = 1000) -> str:
    """`25.3 GB` with base 1000, `32 MiB` with base 1024."""
    units = ("B", "KiB", "MiB", "GiB") if base == 1024 else ("B", "kB", "MB", "GB", "TB")
    power = min(int(math.log(n_bytes, base)), len(units) - 1) if n_bytes >= 1 else 0
    return f"{n_bytes / base**power:.3g} {units[power]}"


@style.styled
def draw_box(title: str, *sketches: Sketch) -> style.Picture:
    """One panel a machine, side by side; the way to a part is dotted where its GB/s aren't told."""
    figure = style.new_figure(title, 4)
    panels = figure.subplots(1, len(sketches), squeeze=False)[0]
    depth = max(_panel(axes, one) for axes, one in zip(panels, sketches, strict=True))
    for axes in panels:
        axes.set_ylim(-depth - 0.1, 0.1)
    figure.set_size_inches(8, 1.1 + UNIT_INCHES * depth)
    said = [line for one in sketches for line in _told(one)]
    said.append(style.say_origins(figure, [fill(one.provenance, 120) for one in sketches]))
    return style.render(figure, title, said, 24)


def _told(one: Sketch) -> Iterator[str]:
    """A machine in lines; a live one in one line, which differs from reader to reader."""
    lines = [f"{one.title}: {' '.join(one.processor.split())}", *(text for text, _ in one.caches)]
    for branch in one.branches:
        way = "; ".join(filter(None, (" ".join(branch.way.split()), branch.between)))
        lines.append(f"  {branch.part} ({way or 'way not told'})")
    if one.kind == "live":
        yield f"{one.title}: {told.local('; '.join(lines).partition(': ')[2])}"
    else:
        yield from lines


def _panel(axes: "Axes", one: Sketch) -> float:
    """Draws a machine downwards from 0, and gives how deep it got."""
    colour = style.COLOURS[one.kind]
    axes.set_axis_off()
    axes.set_xlim(0, 10)
    axes.set_title(one.title, loc="left", color=colour, fontsize=12, fontweight="bold")
    y = start = _processor(axes, one, colour)
    for branch in one.branches:
        y = _branch(axes, branch, y, start, colour)
    return -y


def _processor(axes: "Axes", one: Sketch, colour: str) -> float:
    text = "\n".join(fill(line, 40) for line in one.processor.splitlines())
    squares = 0.65 if one.cores else 0
    height = _lines(text) + squares + 0.46 * len(one.caches) + 0.15
    _frame(axes, 0, -height, 9.9, height, style.shade(colour, 2, 3))
    axes.text(0.25, -0.15, text, va="top", fontsize=9.5, linespacing=1.3)
    y = -_lines(text) - squares
    _squares(axes, 0.25, y, one.cores, colour)
    for words, share in one.caches:
        y -= 0.46
        axes.barh(y + 0.2, 9.4 * share, 0.4, left=0.25, color="#FFFFFF")
        axes.text(0.35, y + 0.2, words, va="center", fontsize=9.5)
    return -height


def _branch(axes: "Axes", branch: Branch, y: float, start: float, colour: str) -> float:
    """Draws a part below y, the bus to it from `start`, and gives the new y."""
    text = fill(branch.part, 27)
    squares, between = 0.65 if branch.squares else 0, 0.62 if branch.between else 0
    height = max(_lines(text) + squares + between, 0.95)
    top = y - 0.25
    middle = top - 0.3
    axes.plot([SPINE, SPINE], [start, middle], color=colour, linewidth=2)
    dashes = ":" if branch.gb_per_s is None else "-"
    axes.plot([SPINE, LEFT], [middle] * 2, color=colour, linewidth=2, linestyle=dashes)
    axes.text(SPINE + 0.2, middle - 0.15, branch.way, va="top", fontsize=8.5, linespacing=1.1)
    _frame(axes, LEFT, top - height, WIDTH, height, "#FFFFFF")
    axes.text(LEFT + 0.2, top - 0.15, text, va="top", fontsize=9.5, linespacing=1.3)
    _squares(axes, LEFT + 0.25, top - _lines(text) - squares + 0.05, branch.squares, colour)
    if between:
        bar = [top - height + 0.55] * 2
        axes.plot([LEFT + 0.25, LEFT + WIDTH - 0.3], bar, color=style.INK, linewidth=4)
        axes.text(LEFT + 0.25, top - height + 0.12, branch.between, fontsize=8.5)
    return top - height


def _lines(text: str) -> float:
    """The height of some lines of text, with its margins."""
    return 0.41 * (text.count("\n") + 1) + 0.25


def _squares(axes: "Axes", x: float, y: float, count: int, colour: str) -> None:
    side = 0.5 if count <= 10 else 0.22
    lefts = [x + place * (side + 0.06) for place in range(min(count, MOST_SQUARES))]
    axes.bar(lefts, 0.5, side, bottom=y, color=colour, align="edge")
    if count > MOST_SQUARES:
        axes.text(x + MOST_SQUARES * 0.28 + 0.1, y + 0.05, f"… {count}", fontsize=9)


def _frame(axes: "Axes", x: float, y: float, width: float, height: float, fill_colour: str) -> None:
    from matplotlib.patches import FancyBboxPatch

    axes.add_patch(
        FancyBboxPatch((x + 0.05, y), width - 0.1, height, facecolor=fill_colour,
                       boxstyle="round,pad=0,rounding_size=0.15", edgecolor="#999999")
    )  # fmt: skip
