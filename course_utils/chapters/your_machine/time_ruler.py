"""A ruler of time: a logarithmic scale from nanoseconds to a second, others' numbers and ours."""

import math
from collections.abc import Collection, Mapping
from textwrap import fill
from typing import TYPE_CHECKING

from course_utils.core import guesses as made
from course_utils.core.evidence import Series
from course_utils.core.measurement import Measurement, format_seconds
from course_utils.figures import style, told
from course_utils.figures.guess_line import COLOUR as GUESSED

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LOW, HIGH = 2e-10, 1.0  # seconds
DECADES = [10.0**k for k in range(-9, 1)]


@style.styled
def draw_ruler(
    title: str,
    live: Mapping[str, float | Measurement | None],
    *elsewhere: Series | None,
    guesses: Mapping[str, str] | None = None,
    not_everywhere: Collection[str] = (),
) -> style.Picture:
    """Live times above the scale, each of the others below, from the shortest to the longest.

    What couldn't be measured (None) takes no place. `guesses` has the ids of questions by the live
    times that they ask for: a dotted line leads from each time to what the reader predicted.
    `not_everywhere` names live times that another machine may lack.
    """
    measured = {name: value for name, value in live.items() if value is not None}
    groups = [Series.of(values) for values in (measured, *elsewhere) if values]
    marks = [(v, name, g.kind) for g in groups for name, v in g.values.items() if v > 0]
    up = sorted((mark for mark in marks if mark[2] == "live"), reverse=True)
    down = sorted((mark for mark in marks if mark[2] != "live"), reverse=True)
    figure, axes = style.one_panel(title, 1.5 + 0.27 * len(marks))
    axes.set(xscale="log", xlim=(LOW, HIGH), ylim=(-len(down) - 0.6, len(up) + 0.6))
    _scale(axes)
    said, here = ["x: seconds, logarithmic", "live, above the line"], _marks(axes, up, 1)
    said += sorted(line for line, name in here if name not in not_everywhere)
    if not_everywhere:
        some = [line.strip() for line, name in here if name in not_everywhere]
        said.append(f"  where it can be measured: {told.local('; '.join(some))}")
    said += ["others', below it"] if down else []
    said += [line for line, _ in _marks(axes, down, -1)]
    asked = guesses or {}
    for place, (value, name, _) in enumerate(up, 1):
        said.append(_lead_to_guess(axes, name, value, place, asked.get(name, "")))
    said.append(style.say_origins(figure, [fill(g.provenance, 110) for g in groups]))
    colours = 64 if any(map(made.of, asked.values())) else 24  # fewer would lose the guesses'
    return style.render(figure, title, said, colours)


def _scale(axes: "Axes") -> None:
    axes.axhline(0, color="#222222", linewidth=2)
    axes.xaxis.set_major_formatter(lambda x, _at: style.tick(x, "seconds"))
    axes.set_xticks(DECADES)
    axes.minorticks_off()
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.grid(True, axis="x")


def _marks(axes: "Axes", marks: list[tuple[float, str, str]], side: int) -> list[tuple[str, str]]:
    """A stem from the scale to each time; the longest time stands next to the scale.

    Gives a line for each, and its name.
    """
    lines = []
    for place, (value, name, kind) in enumerate(marks, 1):
        y, colour = side * place, style.COLOURS[kind]
        axes.plot([value, value], [0, y], color=colour, linewidth=0.8, alpha=0.5)
        axes.plot([value], [y], color=colour, marker=style.MARKS[kind], markersize=6)
        late = math.log(value / LOW) > 0.55 * math.log(HIGH / LOW)
        text = format_seconds(value) if kind == "live" else format_seconds(value)[2:]
        lines.append((f"  {name}: {text}", name))
        axes.annotate(
            f"{name}: {text}", (value, y), (-8 if late else 8, 0), textcoords="offset points",
            ha="right" if late else "left", va="center", fontsize=10, color=colour,
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.5},
        )  # fmt: skip
    return lines


def _lead_to_guess(axes: "Axes", name: str, value: float, y: int, question: str) -> str:
    """From a live time to the reader's prediction of it, if there is one that the scale can show.

    A range has a stroke at either end. Gives the line that tells it, or "".
    """
    guess = made.of(question)
    ends = [end for end in guess.ends("seconds") if LOW <= end <= HIGH] if guess else []
    if ends:
        xs, ys = [value, *ends], [y] * (1 + len(ends))
        axes.plot(xs, ys, color=GUESSED, linestyle=":", zorder=1)
        axes.plot(ends, [y] * len(ends), color=GUESSED, linestyle="", marker="|", markersize=13,
                  markeredgewidth=2.5, zorder=5)  # fmt: skip
    return f"  you, {name}: {guess}" if ends else ""
