"""A widget: a model, its batch and each trade; what a step takes at each moment, and what fits."""

from itertools import pairwise
from typing import Any

import ipywidgets as widgets

from course_utils.figures import alt_text, byte_bars, style
from course_utils.figures.controls import NARROW, Controls, TwoColumns, choice
from course_utils.planner.bytes_held import Moment, moments, peak
from course_utils.planner.cards import cards, context_bytes, needed, verdict
from course_utils.planner.plans import Plan, relative_time
from course_utils.planner.shapes import shape, shapes

MODELS = tuple(title for title, model in shapes().items() if not model.written_out)
BATCHES = (1, 2, 4, 8, 16, 32, 64)
CONTEXTS = (512, 1024, 2048, 4096, 8192, 32768)
RECIPES = ("FP32", "AMP BF16", "pure BF16")
CHECKPOINTING = ("none", "selective", "sqrt", "every block")
OPTIMIZERS = ("Adam", "Adam, fused", "Adam 8-bit", "Adafactor", "Muon", "SGD")
CONTEXT = "CUDA context, at least"
COLOURS = {
    "weights": byte_bars.PARTS["parameter"],
    "half copies": byte_bars.PARTS["half copy"],
    "gradients": byte_bars.PARTS["gradient"],
    "optimizer states": byte_bars.PARTS["optimizer state"],
    "activations kept": byte_bars.PARTS["activation"],
    "recomputed block": "#B5A642",
    "logits and their gradients": "#CC3311",
    "temporaries": byte_bars.PARTS["temporary"],
    "cuBLAS workspace": byte_bars.PARTS["workspace"],
    "rounding": byte_bars.PARTS["rounding"],
    CONTEXT: "#777777",
}
GB = 1e9


def fits_explorer() -> Controls:
    """Eight controls over a bar for each moment of a step that can be its peak, by the planner.

    Bytes are what torch's allocator hands out, and CUDA's context; lines mark the sizes of GPUs.
    """
    return TwoColumns(
        _draw,
        "A training step's bytes at each moment, beside the sizes of GPUs",
        model=choice("model", MODELS, "Llama 3.2 1B"),
        batch=choice("sequences", BATCHES, 1),
        context=choice("tokens in each", CONTEXTS, 4096),
        recipe=choice("recipe", RECIPES, "AMP BF16"),
        checkpointing=choice("checkpointing", CHECKPOINTING, "every block"),
        optimizer=choice("optimizer", OPTIMIZERS, "Adam"),
        in_backward=_tick("its step inside the backward pass"),
        fused_loss=_tick("a fused loss, 1,024 tokens at once"),
    )


def _tick(text: str) -> Any:
    return widgets.Checkbox(False, description=text, **NARROW)


def _draw(model: str, **choices: Any) -> tuple[style.Picture, str]:
    """The bars of what the controls say, and in words what fits and what it costs, as HTML."""
    plan = Plan(shape(model), **choices)
    found, sizes = peak(plan), cards(plan.recipe)
    least, safe = (n_bytes / GB for n_bytes in needed(found.total, found.always))
    answers = {card: verdict(size, found.total, found.always) for card, size in sizes.items()}
    by_card = ", ".join(f"{_size(card)} ({card}): <b>{said}</b>" for card, said in answers.items())
    missing = [card for card in cards() if card not in sizes]
    if missing:
        by_card += f"; {', '.join(missing)}: has no BF16"
    reading = (
        f"{by_card}. At the peak, {found.name}, <b>{found.total / GB:.1f} GB</b> are allocated: "
        f"the GPU needs {least:.1f} GB at least and {safe:.1f} GB with a margin for what the "
        "allocator reserves and can't use. "
        f"The step takes <b>{relative_time(plan):.2f}</b> times the FLOPs of one that "
        "recomputes nothing."
    )
    step = f"{model}, {plan.batch} × {plan.context:,} tokens"
    return draw_moments(f"{step}: {verdicts(answers)}", moments(plan)), reading


def verdicts(answers: dict[str, str]) -> str:
    """The smallest card in which the step fits, and the one in which it may."""
    fits = [card for card, said in answers.items() if said == "fits"]
    tight = [card for card, said in answers.items() if said == "tight"]
    if not fits + tight:
        return "fits in no one GPU"
    found = f"fits in {_size(fits[0])}" if fits else "fits safely in none"
    return f"{found}; tight in {_size(tight[0])}" if tight else found


def _size(card: str) -> str:
    return f"{cards()[card] / GB:.0f} GB"


@style.styled
def draw_moments(title: str, found: list[Moment]) -> style.Picture:
    """A bar for each moment, its bytes by part, and a line for each card's memory, in GB (10⁹),
    but for those that are too small to be told apart there.

    Of moments with the same name the largest is drawn.
    """
    largest = {m.name: m for m in sorted(found, key=lambda moment: moment.total)}
    shown = [largest[name] for name in dict.fromkeys(moment.name for moment in found)]
    most = max(moment.total for moment in shown) + context_bytes()[0]
    sizes = cards().values()
    end = 1.16 * max(most, min((size for size in sizes if size > most), default=most)) / GB
    figure, axes = style.one_panel(title, 3.5)
    used = [part for part in COLOURS if _share(part, shown, most) > 0.004]
    said = ["x: GB"]
    for place, moment in enumerate(shown):
        said.append(_bar(axes, place, moment, most, used))
    style.name_rows(axes, [_short(moment.name) for moment in shown], above=0.9)
    axes.set(xlim=(0, end), xlabel="GB")
    marks = [size / GB for size in sizes if 0.08 * end < size / GB < end]
    for size, after in pairwise([*marks, 2 * end]):
        near = after - size < 0.15 * end
        axes.axvline(size, color=style.INK, linewidth=1.2, linestyle="--")
        axes.annotate(f"{size:.0f} GB", (size, -0.72), (-4 if near else 4, 0), va="center",
                      ha="right" if near else "left", textcoords="offset points",
                      fontsize=10.5)  # fmt: skip
    said.append(
        f"  GPUs' sizes, GB: {', '.join(f'{size:.0f}' for size in marks) or 'none so small'}"
    )
    style.key_below(figure, {part: COLOURS[part] for part in used}, 4, fontsize=10)
    return style.render(figure, title, said)


def _share(part: str, shown: list[Moment], most: float) -> float:
    """The largest size of a part, as a share of the highest bar."""
    if part == CONTEXT:
        return context_bytes()[0] / most
    return max(moment.parts[part] for moment in shown) / most


def _short(name: str) -> str:
    """A moment's name beside its bar: its last words."""
    return name.rpartition(" the ")[2]


def _bar(axes: "style.Axes", place: int, moment: Moment, most: float, used: list[str]) -> str:
    """Its parts side by side, and their sum, in bold where it is the most; and as a line."""
    parts, left = {**moment.parts, CONTEXT: round(context_bytes()[0])}, 0.0
    for part, colour in COLOURS.items():
        axes.barh(place, parts[part] / GB, left=left, color=colour, height=0.7)
        left += parts[part] / GB
    weight = "bold" if left > 0.999 * most / GB else "normal"
    white = {"facecolor": "white", "edgecolor": "none", "pad": 1}
    style.write_beside(axes, f"{left:.1f}", left, place, fontweight=weight, bbox=white)
    in_gb = {part: parts[part] / GB for part in used}
    return alt_text.stack(_short(moment.name), in_gb, f"{left:.1f}")
