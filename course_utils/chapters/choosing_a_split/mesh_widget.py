"""A widget: a mesh of GPUs, the groups of one rank, and the bytes that it holds."""

import math

import ipywidgets as widgets

from course_utils.chapters.choosing_a_split.steps import PARTS, Work, held_bytes
from course_utils.figures import alt_text, byte_bars, style
from course_utils.figures.controls import NARROW, Controls, TwoColumns, choice
from course_utils.planner.shapes import shape
from course_utils.planner.splits import Split, cluster

MODELS = ("GPT-2 xl", "Llama 3 8B", "MPT 30B", "Llama 3 70B", "Llama 3 405B")
GPUS = (8, 16, 32, 64, 128, 256, 512)
SIZES = (1, 2, 4, 8, 16)
GROUPS = {
    "gather": ("shard", "#555555"),
    "replicate": ("replicate", "#999933"),
    "context": ("context", "#44AA99"),
    "pipeline": ("pipeline", "#D55E00"),
    "tensor": ("tensor", "#0072B2"),
}
COLOURS = {
    "weights": byte_bars.PARTS["parameter"],
    "gradients": byte_bars.PARTS["gradient"],
    "optimizer states": byte_bars.PARTS["optimizer state"],
    "gathered weights": byte_bars.PARTS["half copy"],
    "unreduced gradients": "#332288",
    "activations": byte_bars.PARTS["activation"],
    "logits": "#CC3311",
    "a layer's backward": "#882255",
}
GB = 1e9


def mesh_explorer() -> Controls:
    """Seven controls over the ranks of a mesh, node by node, and the bytes of one of them.

    A micro-batch is one sequence of the model's own length; there are as many as stages.
    """
    size = choice("GPUs", GPUS, 64)
    how = {"description": "rank", "continuous_update": False}
    place = widgets.IntSlider(13, 0, 63, **how, **NARROW)
    size.observe(lambda change: setattr(place, "max", change["new"] - 1), "value")
    return TwoColumns(
        draw_mesh,
        "A mesh of GPUs: the groups of one rank, and what it holds",
        gpus=size,
        tensor=choice("tensor", SIZES, 8),
        context=choice("context", SIZES[:4], 1),
        pipeline=choice("pipeline", SIZES, 2),
        replicas=choice("replicas", SIZES, 1),
        model=choice("model", MODELS, "Llama 3 70B"),
        rank=place,
    )


def draw_mesh(
    gpus: int, tensor: int, context: int, pipeline: int, replicas: int, model: str, rank: int
) -> tuple[style.Picture, str]:
    """The picture and, as HTML, what the rank holds; or why these sizes can't be."""
    try:
        split = mesh(gpus, tensor, context, pipeline, replicas)
        work = Work(shape(model), pipeline)
        held = held_bytes(work, split)
    except ValueError as error:
        title = "These sizes don't go together"
        return _draw(title, gpus, rank, {}, {}), f"<b>{title}</b>: {error}."
    groups = {axis: split.group(axis, rank) for axis in GROUPS}
    groups = {axis: group for axis, group in groups.items() if len(group) > 1}
    sizes = ", ".join(f"{GROUPS[axis][0]} {len(group)}" for axis, group in groups.items())
    title = f"{model}, the groups of rank {rank} among {gpus}: {sizes or 'none'}"
    return _draw(title, gpus, rank, groups, held), in_words(work, split, rank, held)


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
    """Describes what the rank holds, as HTML."""
    total, room = sum(held.values()) / GB, cluster().memory_gb
    largest = max(held, key=lambda part: held[part])
    stage = rank // split.stride("pipeline") + 1
    card = f"a card has {room:.0f} GB" if total <= room else f"<b>too much for</b> {room:.0f} GB"
    return (
        f"Rank {rank} (stage {stage} of {split.pipeline}) holds up to <b>{total:.1f} GB</b> "
        f"by count, and {card}; the largest part is {largest}, {held[largest] / GB:.1f} GB. A step "
        f"is {work.sequences} × {work.length:,} tokens for each group (m = {split.micro_batches}), "
        "every block recomputed."
    )


@style.styled
def _draw(
    title: str, gpus: int, rank: int, groups: dict[str, list[int]], held: dict[str, float]
) -> style.Picture:
    """The ranks by node at the left; at the right a rank's bytes."""
    figure = style.new_figure(title, 3.6)
    ranks, bar = figure.subplots(1, 2, width_ratios=[1.15, 1])
    _draw_ranks(ranks, gpus, rank, groups)
    said = [f"  {GROUPS[axis][0]}: {' '.join(map(str, group))}" for axis, group in groups.items()]
    bar.set_visible(bool(held))
    if held:
        _draw_held(bar, held)
        in_gb = {part: held.get(part, 0.0) / GB for part in PARTS}
        said.append(alt_text.stack(f"GB held of {cluster().memory_gb:.0f}", in_gb))
    return style.render(figure, title, said)


def _draw_ranks(axes: "style.Axes", gpus: int, rank: int, groups: dict[str, list[int]]) -> None:
    """A cell for each rank, eight to a node, its own with a thick edge; a colour for each group."""
    from matplotlib.patches import Rectangle

    node = cluster().node
    nodes = -(-gpus // node)
    wide = {1: 1, 2: 1, 4: 2, 8: 2, 16: 4, 32: 4, 64: 8}[nodes]
    colours = {one: GROUPS[axis][1] for axis, group in groups.items() for one in group}
    corner = {}
    for one in range(gpus):
        home, seat = divmod(one, node)
        x = home % wide * 4.6 + seat % 4
        y = home // wide * 2.7 + seat // 4
        corner[one] = (x, y)
        axes.add_patch(Rectangle((x, y), 0.94, 0.94, facecolor=colours.get(one, "#E3E3E3")))
        if gpus <= 64:
            axes.text(x + 0.47, y + 0.5, str(one), ha="center", va="center",
                      fontsize=11 if gpus <= 32 else 9,
                      color="white" if one in colours else style.INK)  # fmt: skip
    for home in range(nodes):
        x, y = corner[home * node]
        axes.add_patch(Rectangle((x - 0.12, y - 0.12), 4.18, 2.18, fill=False, edgecolor="#999999"))
    thick = 2.5 if gpus <= 64 else 1.3
    axes.add_patch(Rectangle(corner[rank], 0.94, 0.94, fill=False, edgecolor=style.INK, lw=thick))
    axes.set(
        xlim=(-0.3, max(corner.values())[0] + 1.3),
        ylim=(max(y for _, y in corner.values()) + 1.3, -0.3),
    )
    keys = [
        Rectangle((0, 0), 1, 1, color=GROUPS[axis][1], label=GROUPS[axis][0]) for axis in groups
    ]
    axes.legend(handles=keys, ncols=3, fontsize=9, frameon=False, loc="upper center",
                bbox_to_anchor=(0.5, 0), borderaxespad=0, columnspacing=1)  # fmt: skip
    axes.set_aspect("equal")
    axes.set_axis_off()


def _draw_held(axes: "style.Axes", held: dict[str, float]) -> None:
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
