"""A widget: a model, its batch and each trade; what a step takes at each moment, and what fits."""

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import ipywidgets as widgets

from course_utils.chapters.trading_compute_for_memory.model_shapes import shape, shapes
from course_utils.chapters.trading_compute_for_memory.planner import (
    PARTS,
    Moment,
    moments,
    peak,
)
from course_utils.chapters.trading_compute_for_memory.plans import Plan, relative_time
from course_utils.core.evidence import Row, published
from course_utils.core.gpus import gpu_specs
from course_utils.figures import alt_text, byte_bars, style
from course_utils.figures.controls import NARROW, Controls, TwoColumns, choice
from course_utils.memory.prediction import Build, predict_bytes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# ---- Does it fit? GPUs of the usual sizes, and what a training step leaves of them.

TITLES = ("T4", "RTX 4090", "H100 SXM", "H200")


def cards() -> dict[str, float]:
    """The memory of some GPUs, in bytes, by title: 16, 24, 80 and 141 GB, as sold (10⁹ bytes).

    Whether they have a recipe's formats (a T4 has no BF16) isn't asked.
    """
    found = {title: gpu_specs(title) for title in TITLES}
    return {title: 1e9 * specs.memory_gb for title, specs in found.items() if specs}


def context_bytes() -> float:
    """What CUDA takes beside torch's allocator: the most that was published."""
    return 1e6 * max(row["mb"] for row in published("cuda_context").rows)


def room(n_bytes: float) -> dict[str, float]:
    """What is left of each card, in bytes, beside so many and the CUDA context; negative: missing.

    `n_bytes` is what torch's allocator takes of the GPU.
    """
    return {title: memory - n_bytes - context_bytes() for title, memory in cards().items()}


def will_it_fit(build: Build, steps: int = 2, capability: tuple[int, int] = (9, 0)) -> list[Row]:
    """For a training step of your own: a row for each card, and what is left of it, in GB (10⁹).

    `build(device)` returns (model, optimizer, step), as for `memory.predict_bytes`, which runs it
    on a fake GPU of that compute capability and raises what it raises. Counted is what torch's
    allocator would reserve, and CUDA's context.
    """
    found = predict_bytes(build, steps, capability)
    return [
        {
            "GPU": title,
            "GB": f"{cards()[title] / 1e9:.0f}",
            "reserved + context, GB": f"{(found.peak_reserved + context_bytes()) / 1e9:.1f}",
            "fits": "✓" if left >= 0 else "✗",
            "left, GB": f"{left / 1e9:.1f}",
        }
        for title, left in room(found.peak_reserved).items()
    ]


MODELS = tuple(title for title, model in shapes().items() if not model.written_out)
BATCHES = (1, 2, 4, 8, 16, 32, 64)
CONTEXTS = (512, 1024, 2048, 4096, 8192, 32768)
RECIPES = ("FP32", "AMP BF16", "pure BF16")
CHECKPOINTING = ("none", "selective", "sqrt", "every block")
OPTIMIZERS = ("Adam", "Adam 8-bit", "Adafactor", "Muon", "SGD")
CONTEXT = "CUDA context"
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


def fits_explorer(
    model: str = "Llama 3.2 1B",
    batch: int = 1,
    context: int = 4096,
    checkpointing: str = "every block",
) -> Controls:
    """Eight controls over a bar for each moment of a step that can be its peak, by the planner.

    Bytes are what torch's allocator hands out, and CUDA's context; lines mark the sizes of GPUs.
    Raises: ValueError for a model or a checkpointing that there isn't.
    """
    shape(model)
    if checkpointing not in CHECKPOINTING:
        raise ValueError(f"no {checkpointing!r}; there are {', '.join(CHECKPOINTING)}")
    return TwoColumns(
        _draw,
        "A training step's bytes at each moment, beside the sizes of GPUs",
        model=choice("model", MODELS, model),
        batch=choice("batch (lines)", BATCHES, batch),
        context=choice("tokens a line", CONTEXTS, context),
        recipe=choice("recipe", RECIPES, "AMP BF16"),
        checkpointing=choice("checkpointing", CHECKPOINTING, checkpointing),
        optimizer=choice("optimizer", OPTIMIZERS, "Adam"),
        in_backward=_tick("its step inside the backward pass"),
        chunked_loss=_tick("the loss in chunks of 1,024 tokens"),
    )


def _tick(text: str) -> Any:
    return widgets.Checkbox(False, description=text, **NARROW)


def _draw(model: str, **choices: Any) -> tuple[style.Picture, str]:
    """The bars of what the controls say, and in words what fits and what it costs, as HTML."""
    plan = Plan(shape(model), **choices)
    found = peak(plan)
    left = room(found.total)
    fitting = [title for title, n_bytes in left.items() if n_bytes >= 0]
    if fitting:
        card = fitting[0]
        verdict = f"It fits in {_size(card)} ({card}) with <b>{left[card] / GB:.1f} GB</b> left"
    else:
        card = list(left)[-1]
        verdict = f"It fits in none: {_size(card)} ({card}) lack <b>{-left[card] / GB:.1f} GB</b>"
    reading = (
        f"{verdict}. The peak, <b>{(found.total + context_bytes()) / GB:.1f} GB</b> with CUDA's "
        f"context, is {found.name}. "
        f"The step takes <b>{relative_time(plan):.2f}</b> times the FLOPs of one that "
        "recomputes nothing."
    )
    return draw_moments(title(fitting), moments(plan)), reading


def title(fitting: list[str]) -> str:
    """The smallest card that holds the highest bar, and the next that doesn't."""
    if not fitting:
        return "This step fits in no one GPU"
    smaller = [card for card in cards() if card not in fitting]
    return f"This step fits in {_size(fitting[0])}" + (
        f", not in {_size(smaller[-1])}" if smaller else ""
    )


def _size(card: str) -> str:
    return f"{cards()[card] / GB:.0f} GB"


@style.styled
def draw_moments(title: str, found: list[Moment]) -> style.Picture:
    """A bar for each moment, its bytes by part, and a line for each card's memory, in GB (10⁹),
    but for those that are too small to be told apart there.

    Of moments with the same name the largest is drawn.
    """
    from matplotlib.patches import Patch

    largest = {m.name: m for m in sorted(found, key=lambda moment: moment.total)}
    shown = [largest[name] for name in dict.fromkeys(moment.name for moment in found)]
    most = max(moment.total for moment in shown) + context_bytes()
    sizes = cards().values()
    end = 1.16 * max(most, min((size for size in sizes if size > most), default=most)) / GB
    figure, axes = style.one_panel(title, 3.5)
    used = [part for part in (*PARTS, CONTEXT) if _share(part, shown, most) > 0.004]
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
    patches = [Patch(color=COLOURS[part], label=part) for part in used]
    figure.legend(handles=patches, loc="outside lower left", ncols=4, frameon=False, fontsize=10)
    return style.render(figure, title, said)


def _share(part: str, shown: list[Moment], most: float) -> float:
    """How much of the highest bar a part is where it is largest."""
    if part == CONTEXT:
        return context_bytes() / most
    return max(moment.parts[part] for moment in shown) / most


def _short(name: str) -> str:
    """A moment's name beside its bar: its last words."""
    return name.rpartition(" the ")[2]


def _bar(axes: "Axes", place: int, moment: Moment, most: float, used: list[str]) -> str:
    """Its parts side by side, and their sum, in bold where it is the most; and as a line."""
    parts, left = {**moment.parts, CONTEXT: round(context_bytes())}, 0.0
    for part, colour in COLOURS.items():
        axes.barh(place, parts[part] / GB, left=left, color=colour, height=0.7)
        left += parts[part] / GB
    weight = "bold" if left > 0.999 * most / GB else "normal"
    white = {"facecolor": "white", "edgecolor": "none", "pad": 1}
    style.write_beside(axes, f"{left:.1f}", left, place, fontweight=weight, bbox=white)
    in_gb = {part: parts[part] / GB for part in used}
    return alt_text.stack(_short(moment.name), in_gb, f"{left:.1f}")
