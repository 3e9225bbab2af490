"""Runs of one training, each in a panel of its own, beside the run they are held against."""

from collections.abc import Mapping
from math import ceil, floor, log10
from typing import TYPE_CHECKING

from course_utils.core.evidence import Series
from course_utils.figures import alt_text, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Line = Mapping[float, float]  # step: loss
MOST_ACROSS = 3


@style.styled
def beside_reference(
    title: str,
    lines: Mapping[str, Line],
    reference: str,
    x_label: str,
    y_label: str,
    kept: Series | None = None,
    notes: Mapping[str, str] | None = None,
) -> style.Picture:
    """A panel for each line but `reference`, which is grey in all of them; y is logarithmic.

    Lines are live. `kept` is recorded evidence whose rows have `recipe`, `step` and `loss`: its
    lines are dashed, in the panel of their recipe. `notes` are words on a line, beside its name.
    Raises: KeyError where there is no `reference`.
    """
    grey, others = lines[reference], [name for name in lines if name != reference]
    said = (notes or {}).get(reference)
    across = 2 if len(others) == 4 else min(MOST_ACROSS, len(others))
    down = ceil(len(others) / across)
    figure = style.new_figure(title, 1.3 + 2.2 * down)
    panels = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False)
    x_said = f"{x_label} (grey: {', '.join(filter(None, (reference, said)))})"
    lines_said = [alt_text.axes(x_said, y_label, "y"), alt_text.curve(reference, grey, live=True)]
    for axes, name in zip(panels.flat, others, strict=False):
        _draw(axes, grey, color="#999999", linewidth=1.6, label=reference)
        _draw(axes, lines[name], color=style.COLOURS["live"], label=name)
        words = ": ".join(filter(None, (name, (notes or {}).get(name))))
        lines_said.append(alt_text.curve(words, lines[name], live=True))
        past = kept.rows_where(recipe=name) if kept else []
        if past:
            line = {row["step"]: row["loss"] for row in past}
            _draw(axes, line, color=style.COLOURS["recorded"], linestyle="--", label="recorded")
            lines_said.append(alt_text.curve(f"{name}, recorded", line))
        axes.set_title(words, loc="left", fontsize=11)
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(lambda y, _at: style.tick(y))
        axes.grid(True)
    panels[0, 0].set_ylim(
        *_decades(panels[0, 0].get_ylim())
    )  # by one processor's last digits or another's
    for axes in panels.flat[len(others) :]:
        axes.set_visible(False)
    for axes in panels[-1]:
        axes.set_xlabel(x_said)
    figure.supylabel(y_label, fontsize=12)
    origins = [Series.of(grey).provenance, kept.provenance if kept else ""]
    lines_said.append(style.say_origins(figure, origins))
    return style.render(figure, title, lines_said, 48)


def _decades(limits: tuple[float, float]) -> tuple[float, float]:
    """The powers of ten around both limits."""
    low, high = limits
    return 10.0 ** floor(log10(low)), 10.0 ** ceil(log10(high))


def _draw(axes: "Axes", line: Line, **how: object) -> None:
    axes.plot(list(line), list(line.values()), **how)  # type: ignore[arg-type]
