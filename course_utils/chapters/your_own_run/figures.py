"""Chapter 18's pictures: what a faster part does to a step, and the ladder of repairs."""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from course_utils.core.measurement import Measurement
from course_utils.figures import alt_text, style
from course_utils.figures.controls import Controls, choice, slider

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = {
    "waiting for data": "#56B4E9",
    "forward": "#F0E442",
    "backward": "#E69F00",
    "optimizer": "#009E73",
    "checkpoints": "#CC79A7",
    "everything else": "#D9D9D9",
}
FACTORS = (1, 1.5, 2, 3, 5, 10, 100)
MIB = 2**20


def what_if(parts: Mapping[str, float], step_gain: Callable[[float, float], float]) -> Controls:
    """A step's parts in seconds, before and after one of them becomes k times faster."""
    shown = {name: parts.get(name, 0.0) for name in COLOURS}
    whole = sum(parts.values())
    shown["everything else"] = whole - sum(v for k, v in shown.items() if k != "everything else")

    def draw(part: str, k: float) -> tuple[style.Picture, str]:
        share = shown[part] / whole
        gain = f"≈ {step_gain(share, k):.2f}"
        words = (
            f"{part}: ≈ {share:.0%} of the step. {k:g} times faster, the step gains "
            f"{gain} times; without it altogether "
            f"≈ {1 / max(1 - share, 1e-9):.2f} times"
        )
        after = shown | {part: shown[part] / k}
        title = f"“{part}” {k:g} times faster: the step gains {gain} times"
        return _two_steps(title, {"before": shown, "after": after}), words

    return Controls(
        draw,
        "A step, and the same step with a faster part",
        part=choice("part", list(COLOURS), "checkpoints"),
        k=slider("times faster", FACTORS, 100),
    )


@style.styled
def _two_steps(title: str, cases: Mapping[str, Mapping[str, float]]) -> style.Picture:
    figure, axes = style.one_panel(title, 2.9)
    scale, unit = style.axis_unit(max(sum(parts.values()) for parts in cases.values()), "seconds")
    said = []
    for place, (name, parts) in enumerate(cases.items()):
        left = 0.0
        for part, seconds in parts.items():
            label = part if place == 0 else None
            axes.barh(place, seconds / scale, left=left, color=COLOURS[part], label=label)
            left += seconds / scale
        said.append(alt_text.stack(name, dict(parts), live=True))
    style.name_rows(axes, list(cases))
    axes.set(xlabel=f"{unit} a step")
    figure.legend(loc="outside lower left", ncols=3, frameon=False, fontsize=10.5)
    return style.render(figure, title, said, 48)


@style.styled
def draw_ladder(
    title: str, times: Mapping[str, Measurement], held: Mapping[str, int]
) -> style.Picture:
    """Draws a rung for each repair: seconds of a step (and how many times faster than the rung
    above), and bytes at a step's peak.
    """
    figure = style.new_figure(title, 1.6 + 0.42 * len(times))
    left, right = figure.subplots(1, 2, gridspec_kw={"width_ratios": [3, 2]}, sharey=True)
    medians = {name: one.median for name, one in times.items()}
    above = list(medians.values())
    factors = ["", *(f" ({a / b:.2f}×)" for a, b in pairwise(above))]
    scale, unit = style.axis_unit(max(one.q3 for one in times.values()), "seconds")
    ends = [f"{t / scale:.3g}{f}" for t, f in zip(above, factors, strict=True)]
    _rungs(left, {n: t / scale for n, t in medians.items()}, ends, f"{unit} a step", "live",
           [(one.q1 / scale, one.q3 / scale) for one in times.values()])  # fmt: skip
    sizes = {name: size / MIB for name, size in held.items()}
    _rungs(right, sizes, [f"{size:.3g}" for size in sizes.values()], "MiB at the peak", "")
    style.name_rows(left, list(times))
    right.tick_params(axis="y", length=0, labelleft=False)
    said = [
        f"  {name}: {alt_text.amount(seconds, True)} s, {alt_text.amount(sizes[name], True)} MiB"
        for name, seconds in medians.items()
    ]
    origin = (
        "live: medians of rounds in which all rungs take turns; thin lines: half of the rounds; "
        "(times faster than the rung above)"
    )
    return style.render(figure, title, [*said, style.say_origins(figure, [origin])], 48)


def _rungs(
    axes: "Axes",
    values: Mapping[str, float],
    ends: list[str],
    label: str,
    kind: str,
    spread: Sequence[tuple[float, float]] = (),
) -> None:
    axes.barh(range(len(values)), list(values.values()), height=0.7,
              color=style.COLOURS.get(kind, style.EXACT))  # fmt: skip
    reach = list(values.values())  # where the text begins
    for place, (low, high) in enumerate(spread):
        style.draw_spread(axes, place, low, high)
        reach[place] = max(reach[place], high)
    for place, (at, end) in enumerate(zip(reach, ends, strict=True)):
        style.write_beside(axes, end, at, place, fontsize=11)
    axes.set(xlabel=label, xlim=(0, 1.35 * max(reach)))
