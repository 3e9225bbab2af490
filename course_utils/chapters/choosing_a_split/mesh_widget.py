"""A widget: a mesh of GPUs; who works with a rank, what it holds, and what it sends in a step."""

import math
from typing import TYPE_CHECKING

import ipywidgets as widgets

from course_utils.chapters.choosing_a_split.rank_bytes import PARTS, held_bytes, sent_rows
from course_utils.chapters.choosing_a_split.steps import Work
from course_utils.core.evidence import Row
from course_utils.figures import alt_text, byte_bars, style
from course_utils.figures.controls import NARROW, Controls, TwoColumns, choice
from course_utils.planner.shapes import shape
from course_utils.planner.splits import Split, cluster

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MODELS = ("GPT-2 xl", "Llama 3 8B", "MPT 30B", "Llama 3 70B", "Llama 3 405B")
GPUS = (8, 16, 32, 64, 128, 256, 512)
SIZES = (1, 2, 4, 8, 16)
GROUPS = {
    "shards its weights with": "gather",
    "splits each matrix with": "tensor",
    "splits each sequence with": "context",
    "holds the same shard as": "replicate",
    "is in a pipeline with": "pipeline",
}
COLOURS = {
    "weights": byte_bars.PARTS["parameter"],
    "gradients": byte_bars.PARTS["gradient"],
    "optimizer states": byte_bars.PARTS["optimizer state"],
    "gathered weights": byte_bars.PARTS["half copy"],
    "unreduced gradients": "#332288",
    "activations": byte_bars.PARTS["activation"],
    "logits": "#CC3311",
    "a layer recomputed": "#882255",
}
AXES = {"gather": "shards", "replicate": "replicas"}
GB = 1e9


def mesh_explorer(
    gpus: int = 64, tensor: int = 8, pipeline: int = 2, model: str = "Llama 3 70B", rank: int = 13
) -> Controls:
    """Eight controls over the ranks of a mesh, node by node, and the bytes of one of them.

    A micro-batch is one sequence of the model's own length; there are as many as stages.
    """
    size = choice("GPUs", GPUS, gpus)
    how = {"description": "rank", "continuous_update": False}
    place = widgets.IntSlider(rank, 0, gpus - 1, **how, **NARROW)
    size.observe(lambda change: setattr(place, "max", change["new"] - 1), "value")
    return TwoColumns(
        draw_mesh,
        "A mesh of GPUs: who works with a rank, what it holds, what it sends",
        gpus=size,
        tensor=choice("tensor", SIZES, tensor),
        context=choice("context", SIZES[:4], 1),
        pipeline=choice("pipeline", SIZES, pipeline),
        replicas=choice("replicas", SIZES, 1),
        model=choice("model", MODELS, model),
        group=choice("this rank …", tuple(GROUPS), "shards its weights with"),
        rank=place,
    )


def draw_mesh(
    gpus: int, tensor: int, context: int, pipeline: int, replicas: int, model: str, group: str,
    rank: int,
) -> tuple[style.Picture, str]:  # fmt: skip
    """The picture and, as HTML, what the rank holds; or why these sizes can't be."""
    try:
        split = mesh(gpus, tensor, context, pipeline, replicas)
        work = Work(shape(model), pipeline)
        held = held_bytes(work, split)
    except ValueError as error:
        title = "These sizes don't go together"
        return _draw(title, gpus, rank, [], {}, []), f"<b>{title}</b>: {error}."
    others, rows = split.group(GROUPS[group], rank), sent_rows(work, split, cluster())
    nodes = len({other // cluster().node for other in others})
    where = "its own node" if nodes == 1 else f"{nodes} nodes"
    more = f"{len(others) - 1} more, in {where}" if len(others) > 1 else "nobody"
    title = f"Rank {rank} {group} {more}"
    return _draw(title, gpus, rank, others, held, rows), in_words(work, split, rank, held)


def mesh(gpus: int, tensor: int, context: int, pipeline: int, replicas: int) -> Split:
    """The split whose shards are the ranks that are left; as many micro-batches as stages.

    Raises: ValueError where the others' product doesn't divide the GPUs.
    """
    shard, rest = divmod(gpus, tensor * context * pipeline * replicas)
    if rest or not shard:
        named = {"tensor": tensor, "context": context, "pipeline": pipeline, "replicas": replicas}
        product = " × ".join(f"{name} {size}" for name, size in named.items() if size > 1)
        raise ValueError(
            f"{product} makes {math.prod(named.values())}, which {gpus} GPUs can't be divided by: "
            "lower one of them, or take more GPUs"
        )
    return Split(shard, replicas, tensor, pipeline, context, 1, pipeline)


def in_words(work: Work, split: Split, rank: int, held: dict[str, float]) -> str:
    """What the rank holds, as HTML."""
    total, room = sum(held.values()) / GB, cluster().memory_gb
    largest = max(held, key=lambda part: held[part])
    stage = rank // split.stride("pipeline") + 1
    fits = "it fits in" if total <= room else "<b>too much for</b>"
    return (
        f"Rank {rank} (stage {stage} of {split.pipeline}) holds up to <b>{total:.1f} GB</b>, "
        f"{fits} {room:.0f} GB; the largest part is {largest}, {held[largest] / GB:.1f} GB. A step "
        f"is {work.sequences} × {work.length:,} tokens for each group, every block recomputed."
    )


@style.styled
def _draw(
    title: str, gpus: int, rank: int, others: list[int], held: dict[str, float], rows: list[Row]
) -> style.Picture:  # fmt: skip
    """The ranks by node at the left; at the right a rank's bytes, held above and sent below."""
    figure = style.new_figure(title, 3.6)
    panels = figure.subplot_mosaic(
        [["ranks", "held"], ["ranks", "sent"]], width_ratios=[1.15, 1], height_ratios=[1, 1.5]
    )
    _draw_ranks(panels["ranks"], gpus, rank, others)
    said = [f"  rank {rank}'s group among {gpus}: {' '.join(map(str, others)) or 'none'}"]
    if held:
        _draw_held(panels["held"], held)
        in_gb = {part: held.get(part, 0.0) / GB for part in PARTS}
        said.append(alt_text.stack(f"GB held of {cluster().memory_gb:.0f}", in_gb))
    if rows:
        said += ["GB sent in a step", *_draw_sent(panels["sent"], rows)]
    panels["held"].set_visible(bool(held))
    panels["sent"].set_visible(bool(rows))
    return style.render(figure, title, said)


def _draw_ranks(axes: "Axes", gpus: int, rank: int, others: list[int]) -> None:
    """A cell for each rank, eight to a node, its own with a thick edge."""
    from matplotlib.patches import Rectangle

    node = cluster().node
    nodes = -(-gpus // node)
    wide = {1: 1, 2: 1, 4: 2, 8: 2, 16: 4, 32: 4, 64: 8}[nodes]
    corner = {}
    for one in range(gpus):
        home, seat = divmod(one, node)
        x = home % wide * 4.6 + seat % 4
        y = home // wide * 2.7 + seat // 4
        corner[one] = (x, y)
        colour = style.EXACT if one in others else "#E3E3E3"
        axes.add_patch(Rectangle((x, y), 0.94, 0.94, facecolor=colour))
        if gpus <= 64:
            axes.text(x + 0.47, y + 0.5, str(one), ha="center", va="center",
                      fontsize=11 if gpus <= 32 else 9,
                      color="white" if one in others else style.INK)  # fmt: skip
    for home in range(nodes):
        x, y = corner[home * node]
        axes.add_patch(Rectangle((x - 0.12, y - 0.12), 4.18, 2.18, fill=False, edgecolor="#999999"))
    thick = 2.5 if gpus <= 64 else 1.3
    axes.add_patch(Rectangle(corner[rank], 0.94, 0.94, fill=False, edgecolor=style.INK, lw=thick))
    axes.set(
        xlim=(-0.3, max(corner.values())[0] + 1.3),
        ylim=(max(y for _, y in corner.values()) + 1.3, -0.3),
    )
    axes.set_aspect("equal")
    axes.set_axis_off()


def _draw_held(axes: "Axes", held: dict[str, float]) -> None:
    """One bar of its parts, and a line at the memory's end."""
    left, room = 0.0, cluster().memory_gb
    for part in PARTS:
        n_bytes = held.get(part, 0.0) / GB
        if n_bytes:
            axes.barh(0, n_bytes, left=left, color=COLOURS[part], height=0.5, label=part)
        left += n_bytes
    axes.axvline(room, ymax=0.5, color=style.INK, linewidth=1.2, linestyle="--")
    axes.annotate(f"the GPU's {room:.0f} GB", (room, 0.25), (-4, 3), textcoords="offset points",
                  ha="right", fontsize=9.5)  # fmt: skip
    axes.set(yticks=[], xlim=(0, 1.1 * max(left, room)), ylim=(-0.3, 0.8))
    axes.set_xlabel("GB held", fontsize=10.5)
    axes.legend(ncols=2, fontsize=8.5, frameon=False, loc="lower left",
                bbox_to_anchor=(-0.02, 0.6), borderaxespad=0, columnspacing=1)  # fmt: skip


def _draw_sent(axes: "Axes", rows: list[Row]) -> list[str]:
    """A bar for each axis along which it sends, paler inside a node; and as lines."""
    colours = ["#AAAAAA" if row["link"] == "inside a node" else "#555555" for row in rows]
    axes.barh(range(len(rows)), [row["bytes"] / GB for row in rows], color=colours, height=0.6)
    most = max(row["bytes"] / GB for row in rows)
    names, lines = [f"{AXES.get(row['axis'], row['axis'])} {row['ranks']}" for row in rows], []
    for place, row in enumerate(rows):
        amount = row["bytes"] / GB
        said = f"{amount:.1f} GB" if amount >= 0.1 else f"{1e3 * amount:.0f} MB"
        text = f"{said}, {row['link']}"
        style.write_beside(axes, text, amount, place, fontsize=9.5)
        lines.append(f"  {names[place]}: {text}")
    axes.set_yticks(range(len(rows)), names, fontsize=10.5)
    axes.set(xlim=(0, 2.1 * most), ylim=(max(len(rows), 2) - 0.4, -0.6))
    axes.set_xlabel("GB sent in a step", fontsize=10.5)
    return lines
