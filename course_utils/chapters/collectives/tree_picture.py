"""Draws the messages of the chapter's tree: sums go up to rank 0, and the result comes back."""

import math

from course_utils.chapters.collectives.ring_widget import MEANS
from course_utils.figures import style

RADIUS = 0.2


def tree_messages(n: int) -> list[list[tuple[int, int]]]:
    """By step, who sends to whom: ⌈log₂ n⌉ steps up, in which receivers add, and as many down."""
    hops = [2**k for k in range((n - 1).bit_length())]
    up = [[(rank, rank - hop) for rank in range(hop, n, 2 * hop)] for hop in hops]
    return up + [[(to, rank) for rank, to in step] for step in reversed(up)]


@style.styled
def draw_tree(title: str, n: int) -> style.Picture:
    """A row for each step and one for the end; a circle is a rank, its colour what it holds.

    Arrows lead from senders to receivers. Colours are those of `ring_steps`.
    """
    steps = tree_messages(n)
    figure, axes = style.one_panel(title, 1.1 + 0.5 * (len(steps) + 1))
    axes.set_axis_off()
    said, parts = [], [1] * n  # of how many ranks' values each rank holds the sum
    for row in range(len(steps) + 1):
        sends = steps[row] if row < len(steps) else []
        name = f"step {row + 1}" if sends else "at the end"
        said.append(f"  {name}: " + (", ".join(f"{a} → {b}" for a, b in sends) or "all have it"))
        axes.text(-0.7, -row, name, ha="right", va="center")
        for rank in range(n):
            own, partial_sum, complete = MEANS.values()
            colour = complete if parts[rank] == n else partial_sum if parts[rank] > 1 else own
            _rank(axes, (rank, -row), str(rank), colour)
        for source, to in sends:
            bend = math.copysign(min(0.25, 0.6 / abs(to - source)), to - source)
            axes.annotate(
                "", (to, -row), (source, -row),
                arrowprops={"arrowstyle": "->", "color": style.INK, "shrinkA": 11, "shrinkB": 11,
                            "connectionstyle": f"arc3,rad={bend}"},
            )  # fmt: skip
            parts[to] = parts[source] if row >= len(steps) // 2 else parts[to] + parts[source]
    for place, (name, colour) in enumerate(MEANS.items()):
        _rank(axes, (place * n / 3, -len(steps) - 0.9), "", colour)
        axes.text(place * n / 3 + 0.35, -len(steps) - 0.9, name, va="center", fontsize=10)
    axes.set(xlim=(-1.8, n - 0.3), ylim=(-len(steps) - 1.3, 0.7))
    return style.render(figure, title, said)


def _rank(axes: "style.Axes", where: tuple[float, float], text: str, colour: str) -> None:
    from matplotlib.patches import Ellipse

    axes.add_patch(Ellipse(where, 2 * RADIUS, 0.62, facecolor=colour, edgecolor="#999999"))
    axes.text(*where, text, ha="center", va="center", fontsize=9)
