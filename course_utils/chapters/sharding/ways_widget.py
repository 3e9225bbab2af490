"""A widget: what a GPU holds and sends by each way of sharing a model, for sizes you choose."""

from collections.abc import Callable
from functools import partial

from course_utils.figures import style
from course_utils.figures.controls import Controls, slider
from course_utils.figures.style import Picture

MODELS = {"1.5B": 1.5e9, "8B": 8e9, "13B": 13e9, "70B": 70e9, "405B": 405e9}
CARD = 80
Ways = Callable[[float, int, int, int], dict[str, tuple[float, float]]]


def ways_explorer(
    ways: Ways, model: str, gpus: int, micro_batches: int, node: int, free: int
) -> Controls:
    """Sliders over two panels: GB that a GPU holds, and bytes per parameter that leave a node.

    `ways(parameters, gpus, micro_batches, node)` returns both by name, the first in bytes.
    `free` GB of the card are kept for what `ways` doesn't count.
    """
    return Controls(
        partial(_draw, ways),
        "What a GPU holds, and what leaves a node in a step, under each scheme",
        model=slider("parameters", list(MODELS), model),
        gpus=slider("GPUs", [2**k for k in range(4, 13)], gpus),
        micro_batches=slider("micro-batches in a step", [1, 2, 4, 8, 16], micro_batches),
        node=slider("GPUs in a node", [2, 4, 8], node),
        free=slider("GB kept free", [10, 20, 30, 40, 50], free),
    )


def _draw(
    ways: Ways, model: str, gpus: int, micro_batches: int, node: int, free: int
) -> tuple[Picture, str]:
    found, budget = ways(MODELS[model], gpus, micro_batches, node), CARD - free
    fitting = [name for name, (held, _sent) in found.items() if held / 1e9 <= budget]
    least = min(fitting, key=lambda name: found[name][::-1], default="")  # of equals, held
    said = f"“{least}” fits and sends least" if least else "nothing fits"
    title = f"{model} on {gpus} GPUs, {budget} of {CARD} GB each: {said}"
    reading = f"{budget} GB hold: <b>{', '.join(fitting) or 'none'}</b>"
    return draw_ways(title, found, budget), reading


@style.styled
def draw_ways(title: str, found: dict[str, tuple[float, float]], budget: float) -> Picture:
    """A row for each scheme: GB held, on a logarithmic axis, and bytes that leave a node.

    What exceeds `budget` GB is grey. Dots, because an axis of powers has no zero for bars.
    """
    figure = style.new_figure(title, 1.6 + 0.36 * len(found))
    left, right = figure.subplots(1, 2, sharey=True)
    lines = [f"x: GB held (room for {budget}) · bytes per parameter, leaving a node in a step"]
    for place, (name, (n_bytes, sent)) in enumerate(found.items()):
        held = n_bytes / 1e9
        color = style.EXACT if held <= budget else style.KINDS["wait"]
        left.plot(held, place, "o", color=color)
        right.barh(place, sent, color=color)
        white = {"facecolor": "white", "edgecolor": "none", "pad": 1}
        style.write_beside(left, f"{held:,.3g}", held, place, bbox=white)
        style.write_beside(right, f"{sent:.3g}", sent, place)
        lines.append(f"  {name}: {held:,.3g} GB; {sent:.3g}")
    left.axvline(budget, color=style.INK, linestyle="--", linewidth=1.2, zorder=0)
    left.set(xscale="log", xlabel=f"GB held (dashed: {budget})")
    left.xaxis.set_major_formatter(lambda x, _at: style.tick(x))
    left.set_xlim(left.get_xlim()[0], 6 * left.get_xlim()[1])
    right.set(xlabel="bytes per parameter from a node", xlim=(0, 1.2 * right.get_xlim()[1]))
    style.name_rows(left, list(found))
    return style.render(figure, title, lines)
