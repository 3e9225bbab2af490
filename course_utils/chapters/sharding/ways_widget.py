"""A widget: what a GPU holds and sends by each way of sharing a model, for sizes you choose."""

from collections.abc import Callable
from functools import partial

from course_utils.figures import style
from course_utils.figures.controls import Controls, slider
from course_utils.figures.style import Picture

MODELS = {"1.5B": 1.5e9, "8B": 8e9, "13B": 13e9, "70B": 70e9, "405B": 405e9}
CARD = 80
INSIDE = "#E69F00"
Ways = Callable[[float, int, int, int], dict[str, tuple[float, float, float]]]


def ways_explorer(
    ways: Ways, model: str = "8B", gpus: int = 64, micro_batches: int = 4, node: int = 8
) -> Controls:
    """Sliders over two panels: GB that a GPU holds, and how many all_reduces' bytes it sends.

    `ways(parameters, gpus, micro_batches, node)` returns by name the bytes held, and those sent in
    a step over rings that span nodes and inside a node, as multiples of one all_reduce of all
    gradients.
    """
    return Controls(
        partial(_draw, ways),
        "What a GPU holds, and what it sends in a step, by each way of sharing",
        model=slider("parameters", list(MODELS), model),
        gpus=slider("GPUs", [2**k for k in range(3, 13)], gpus),
        micro_batches=slider("micro-batches in a step", [1, 2, 4, 8, 16], micro_batches),
        node=slider("GPUs in a node (HSDP)", [2, 4, 8], node),
    )


def _draw(ways: Ways, model: str, gpus: int, micro_batches: int, node: int) -> tuple[Picture, str]:
    found = ways(MODELS[model], gpus, micro_batches, node)
    fitting = [name for name, (held, *_) in found.items() if held / 1e9 <= CARD]
    least = min(fitting, key=lambda name: sum(found[name][1:]), default="")
    said = f"{least} sends least of what fits" if least else "nothing fits"
    title = f"{model} on {gpus} GPUs of {CARD} GB: {said}"
    reading = f"before any activation, {CARD} GB hold: <b>{', '.join(fitting) or 'none'}</b>"
    return draw_ways(title, found), reading


@style.styled
def draw_ways(title: str, found: dict[str, tuple[float, float, float]]) -> Picture:
    """A row for each way: GB held, on a logarithmic axis, and the multiples of an all_reduce sent.

    Bars of what a card can't hold are grey.
    """
    figure = style.new_figure(title, 1.6 + 0.36 * len(found))
    left, right = figure.subplots(1, 2, sharey=True)
    lines = [f"x: GB held (a card has {CARD}) · times an all_reduce, sent in a step"]
    for place, (name, (n_bytes, across, inside)) in enumerate(found.items()):
        held = n_bytes / 1e9
        left.barh(place, held, color=style.EXACT if held <= CARD else style.KINDS["wait"])
        right.barh(place, across, color=style.EXACT)
        right.barh(place, inside, left=across, color=INSIDE)
        white = {"facecolor": "white", "edgecolor": "none", "pad": 1}
        style.write_beside(left, f"{held:,.3g}", held, place, bbox=white)
        words = f"{across + inside:.3g}" + f", {inside:.3g} inside nodes" * bool(inside)
        style.write_beside(right, words, across + inside, place, fontsize=10.5)
        lines.append(f"  {name}: {held:,.3g} GB; {words}")
    left.axvline(CARD, color=style.INK, linestyle="--", linewidth=1.2, zorder=0)
    left.set(xscale="log", xlabel=f"GB held (dashed: {CARD})")
    left.xaxis.set_major_formatter(lambda x, _at: style.tick(x))
    left.set_xlim(left.get_xlim()[0], 6 * left.get_xlim()[1])
    right.set(xlabel="times an all_reduce, sent in a step")
    right.set_xlim(0, 1.7 * right.get_xlim()[1])
    style.name_rows(left, list(found))
    return style.render(figure, title, lines)
