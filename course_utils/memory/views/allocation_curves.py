"""Reserved against allocated over a program's steps, for one or several settings."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from course_utils.figures import alt_text
from course_utils.figures.style import INK, OTHER_KINDS, Picture, one_panel, render, styled
from snapshots_and_traces.replay.what_if import Outcome

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GiB, MiB = 2**30, 2**20
POINTS = 1500


@styled
def draw_outcomes(outcomes: Mapping[str, Outcome], title: str) -> Picture:
    """Draws the reserved bytes of each outcome as a line; a grey area is what the first allocated.

    A cross stands where memory ran out. Each line is thinner than the one before it, so that equal
    ones are all seen.
    Raises: ValueError for no outcomes.
    """
    if not outcomes:
        raise ValueError("There is nothing to draw: run a program first")
    largest = max(o.peak_reserved for o in outcomes.values())
    scale, unit = (GiB, "GiB") if largest >= 2 * GiB else (MiB, "MiB")
    figure, axes = one_panel(title, 4.6)
    first = next(iter(outcomes.values()))
    steps, allocated = _thinned(first.allocated / scale)
    axes.fill_between(steps, allocated, color="#D9D9D9", linewidth=0, label="allocated")
    said = [alt_text.axes("step of the program", unit)]
    said.append(alt_text.curve("allocated", dict(zip(steps, allocated, strict=True))))
    for place, (label, outcome) in enumerate(outcomes.items()):
        colour = (*OTHER_KINDS, INK)[place % 5]
        said.append(_reserved(axes, outcome, scale, label, colour, 5 - 0.9 * place))
    axes.set(ylim=(0, largest / scale * 1.12), xlim=(0, None), xlabel="step of the program")
    axes.set_ylabel(unit)
    axes.grid(True)
    figure.legend(
        loc="outside lower left", ncols=2 if len(outcomes) > 1 else 1, frameon=False, fontsize=10.5,
        handlelength=1.4,
    )  # fmt: skip
    return render(figure, title, said)


def _reserved(
    axes: "Axes", outcome: Outcome, scale: int, label: str, colour: str, width: float
) -> str:
    """Draws a setting's reserved bytes, and tells them in a line."""
    steps, reserved = _thinned(outcome.reserved / scale)
    text = f"reserved, {label}" if label else "reserved"
    axes.plot(steps, reserved, color=colour, label=text, linewidth=max(1.2, width))
    ran_out = outcome.ran_out is not None and len(steps) > 0
    if ran_out:
        axes.plot(steps[-1:], reserved[-1:], "x", color=colour, markersize=11, markeredgewidth=3)
    points = dict(zip(steps, reserved, strict=True))
    return alt_text.curve(f"{text}, until memory ran out" if ran_out else text, points)


def _thinned(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """At most POINTS points, each the largest of its stretch, so that no peak is lost."""
    stretch = -(-len(values) // POINTS) or 1
    starts = np.arange(0, len(values), stretch)
    return starts, np.maximum.reduceat(values, starts) if len(values) else values
