"""Chapter 17's pictures: values of several seeds over an axis, and gradients around their mean."""

from collections.abc import Mapping, Sequence
from statistics import median

from torch import Tensor

from course_utils.figures import alt_text, style
from course_utils.figures.controls import Controls, slider

Points = Mapping[float, Sequence[float]]  # the values of all seeds, by x
MARKERS = "osD^"


@style.styled
def draw_spread(
    title: str,
    lines: Mapping[str, Points],
    *,
    x_label: str,
    y_label: str,
    predicted: Mapping[str, Mapping[float, float]] | None = None,
    log: str = "x",
    origin: str = "marks are medians of the seeds, bars reach from the least to the most",
) -> style.Picture:
    """Draws the median of the seeds as a mark, and their range as a bar, for each x of each line.

    Every second line has open marks; a line's marks are 2% to the right of those before it.
    `predicted` are curves by label, dotted and dashed. `log` names the axes that are logarithmic,
    in ticks at the values of x that were measured. `origin` says below the figure what marks and
    bars are.
    """
    figure, axes = style.one_panel(title, 4.4)
    said = [alt_text.axes(x_label, y_label, log)]
    for place, (label, points) in enumerate(lines.items()):
        colour = style.shade(style.COLOURS["live"], 2 * place, max(4, 2 * len(lines) - 1))
        middle = {x: median(values) for x, values in points.items()}
        below = [middle[x] - min(values) for x, values in points.items()]
        above = [max(values) - middle[x] for x, values in points.items()]
        axes.errorbar(
            [x * 1.02**place for x in middle], list(middle.values()), [below, above],
            color=colour, marker=MARKERS[place % len(MARKERS)], label=label, linewidth=1,
            capsize=4, markerfacecolor="white" if place % 2 else colour,
        )  # fmt: skip
        said.append(alt_text.curve(label, middle, live=True))
    for place, (label, curve) in enumerate((predicted or {}).items()):
        dashes = (":", "--")[place % 2]
        axes.plot(
            list(curve), list(curve.values()), color=style.INK, linestyle=dashes, linewidth=1.6,
            label=label,
        )  # fmt: skip
        said.append(alt_text.curve(label, curve, live=True))
    _scale(axes, log, sorted({x for points in lines.values() for x in points}))
    axes.set(xlabel=x_label, ylabel=y_label)
    axes.grid(True)
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False, fontsize=11)
    return style.render(figure, title, [*said, style.say_origins(figure, [f"live: {origin}"])], 48)


def _scale(axes: "style.Axes", log: str, marks: list[float]) -> None:
    if "x" in log:
        axes.set_xscale("log", base=2)
        axes.set_xticks(marks, [f"{x:.3g}" for x in marks])
    if "y" in log:
        axes.set_yscale("log", base=10)
        axes.yaxis.set_major_formatter(lambda y, _at: style.tick(y))
        low, high = axes.get_ylim()
        ticks = [m * 10**p for p in range(-3, 6) for m in (1, 2, 5)]
        axes.set_yticks([y for y in ticks if low <= y <= high])
        axes.minorticks_off()


def noise_cloud(drawn: Mapping[int, Tensor], true: Tensor) -> Controls:
    """Widget: gradients of batches beside the true one, in units of its length, by batch size.

    `drawn` are gradients of each batch size, (draws, parameters); `true` is their mean over all
    the data, (parameters,).
    """
    along = {batch: (g @ true / (true @ true)).tolist() for batch, g in drawn.items()}
    across = {
        batch: ((g - (g @ true / (true @ true))[:, None] * true).norm(dim=1) / true.norm()).tolist()
        for batch, g in drawn.items()
    }

    def draw(batch: int) -> tuple[style.Picture, str]:
        noise = median(across[batch])
        words = f"At a batch of {batch}, the noise is ≈ {noise:.2g} times as long as the gradient"
        title = f"Gradients of batches of {batch} samples, and the true gradient"
        return _draw_cloud(title, along[batch], across[batch], words), words

    return Controls(
        draw,
        "Gradients of many batches: how far along the true gradient, and how far off",
        batch=slider("samples in a batch", list(drawn), list(drawn)[len(drawn) // 2]),
    )


@style.styled
def _draw_cloud(
    title: str, along: Sequence[float], across: Sequence[float], words: str
) -> style.Picture:
    figure, axes = style.one_panel(title, 4.4)
    axes.annotate("", (1, 0), (0, 0), arrowprops={"color": style.INK, "width": 2, "headwidth": 9})
    axes.annotate("true gradient", (0.5, 0), (0, -8), textcoords="offset points", va="top",
                  ha="center", annotation_clip=False)  # fmt: skip
    axes.plot(along, across, "o", color=style.COLOURS["live"], alpha=0.5, markersize=5)
    most = max(2.0, *across, *map(abs, along)) * 1.08
    axes.set(xlim=(-most, most), ylim=(-0.12 * most, most))
    axes.set_aspect("equal")
    axes.set(xlabel="along the true gradient, its length is 1", ylabel="across it")
    axes.grid(True)
    return style.render(figure, title, [f"  {words}"], 48)
