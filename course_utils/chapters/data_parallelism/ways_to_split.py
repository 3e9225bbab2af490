"""Three ways to split a GPT over ranks: what each must send, taken from the model, and drawn."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from course_utils.chapters.collectives.rank_blocks import PALETTE
from course_utils.figures.style import INK, Picture, new_figure, render, styled
from course_utils.workloads.gpt import GPT, GPTConfig

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FACES = (PALETTE[0], PALETTE[1])
NOTES = {
    "data": "each a whole model,\nhalf of the batch;\ngradients are added up",
    "layers": "each some blocks, the whole\nbatch; activations go on,\ntheir gradients come back",
    "channels": "each a part of every block,\nthe whole batch; parts of\nactivations are added up",
}


def tensors_to_send(config: GPTConfig, batch: int, n: int) -> dict[str, int]:
    """Bytes that all of `n` ranks send together in a step, from the tensors of a real model.

    Hooks in a forward pass find them: all gradients; what one block gives to the next, and the
    token embedding, which both ends of a model cut by layers hold; outputs of the layers that end
    in a sum over channels, and inputs of those whose backward pass does.
    It runs on torch's default device; on "meta" it needs no memory.
    """
    import torch

    model = GPT(config)
    tokens = torch.zeros(batch, config.context, dtype=torch.int64)
    sums: list[int] = []
    cuts: list[int] = []
    blocks: Any = model.blocks
    for block in blocks:
        ends = (block.attention.to_out, block.down)
        begins = (block.attention.to_qkv, block.up)
        for layer in ends:
            layer.register_forward_hook(lambda _m, _x, out: sums.append(out.nbytes))
        for layer in begins:
            layer.register_forward_pre_hook(lambda _m, x: sums.append(x[0].nbytes))
        block.register_forward_hook(lambda _m, _x, out: cuts.append(out.nbytes))
    model(tokens)
    gradients = sum(p.nbytes for p in model.parameters())
    return {
        "data": 2 * (n - 1) * gradients,
        "layers": 2 * (n - 1) * cuts[0] + 2 * model.tokens.weight.nbytes,
        "channels": 2 * (n - 1) * sum(sums),
    }


@styled
def draw_splits(title: str, sent: Mapping[str, float]) -> Picture:
    """The model of two ranks split by data, layers and channels, with bytes sent below each.

    `sent` maps "data", "layers" and "channels" to bytes.
    """
    figure = new_figure(title, 4.6)
    panels = figure.subplots(1, 3)
    said = []
    for axes, (way, n_bytes) in zip(panels, sent.items(), strict=True):
        axes.set_axis_off()
        axes.set(xlim=(-0.1, 4.1), ylim=(-2.9, 6.6))
        sent_in_all = f"{way}: {n_bytes / 1e6:,.0f} MB"
        axes.set_title(sent_in_all, fontsize=13)
        said.append(f"{sent_in_all}: {' '.join(NOTES[way].split())}")
        _stack(axes, way)
        axes.text(2, -0.35, NOTES[way], ha="center", va="top", fontsize=10.5)
    return render(figure, title, said)


def _stack(axes: "Axes", way: str) -> None:
    """Embedding, four blocks and the head, from bottom to top, in the colours of their ranks."""
    for place, name in enumerate(("tokens", "block", "block", "block", "block", "head")):
        if way == "data" or (way == "channels" and name == "block"):
            width = 1.85 if way == "data" else 1.98
            for rank in range(2):
                _box(axes, (0.02 + rank * (3.96 - width), place), width, FACES[rank], name)
        elif way == "layers":
            _box(axes, (0.6, place), 2.8, FACES[place > 2], name)
        else:
            _box(axes, (0.02, place), 3.96, "#EFEFEF", f"{name} (both)")


def _box(axes: "Axes", corner: tuple[float, float], width: float, colour: str, text: str) -> None:
    from matplotlib.patches import Rectangle

    axes.add_patch(Rectangle(corner, width, 0.86, facecolor=colour, edgecolor="#999999"))
    middle = (corner[0] + width / 2, corner[1] + 0.43)
    axes.text(*middle, text, ha="center", va="center", fontsize=10, color=INK)
