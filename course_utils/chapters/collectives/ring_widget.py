"""A widget: the ring all_reduce, step by step, with the chunks that each rank really holds."""

from collections.abc import Callable, Sequence
from functools import partial
from math import ceil
from typing import TYPE_CHECKING, Any

from course_utils.chapters.collectives.by_hand import Net
from course_utils.chapters.collectives.rank_blocks import PALETTE
from course_utils.chapters.collectives.simulated_ranks import SimulatedNet, simulate
from course_utils.figures.controls import Controls, slider
from course_utils.figures.style import INK, Picture, new_figure, render, styled

if TYPE_CHECKING:
    import torch
    from matplotlib.axes import Axes

Ring = Callable[["torch.Tensor", Net], None]  # replaces a rank's tensor by the sum of all of them
Moment = list[list[int]]  # by rank: the value of each chunk
MEANS = {"one rank's values": "#FFFFFF", "a partial sum": PALETTE[0], "the whole sum": PALETTE[2]}


def ring_moments(ring: Ring, n: int) -> list[Moment]:
    """The chunks of `n` ranks before each of the 2(n−1) steps of `ring`, and at the end.

    Rank r begins with 10^r in each chunk, so the digits of a chunk say whose parts are in it.
    """
    import torch

    seen: dict[tuple[int, int], list[int]] = {}
    held: dict[int, Any] = {}

    def look(net: SimulatedNet) -> None:
        seen[net.steps, net.rank] = held[net.rank].tolist()

    def work(net: SimulatedNet) -> None:
        held[net.rank] = torch.full((n,), 10**net.rank)
        ring(held[net.rank], net)
        look(net)

    simulate(n, work, look)
    return [[seen[step, rank] for rank in range(n)] for step in range(2 * (n - 1) + 1)]


def ring_steps(ring: Ring) -> Controls:
    """Sliders for the number of ranks and the step, over what `ring` did to every rank's chunks."""
    ranks, steps = slider("ranks", range(2, 7), 4), slider("steps done", range(7), 0)
    ranks.observe(lambda change: steps.set_trait("max", 2 * (change["new"] - 1)), "value")
    alt = "The chunks of each rank, step by step: sums grow along the ring, then travel round it"
    return Controls(partial(draw_ring, ring), alt, n=ranks, step=steps)


def draw_ring(ring: Ring, n: int, step: int) -> tuple[Picture, str]:
    """The chunks after `step` steps, and as HTML what happens next and what was sent so far."""
    if step == 2 * (n - 1):
        doing = "done: every chunk of every rank is the sum"
    elif step < n - 1:
        doing = "next: each rank sends the chunk with the arrow to its right, which <b>adds</b> it"
    else:
        doing = "next: each rank sends a finished chunk to its right, which <b>keeps</b> it"
    sent = f"sent by each rank so far: <b>{step}</b> chunks of 1/{n}"
    return draw_moment(ring_moments(ring, n), step), f"{doing} · {sent}"


def draw_ring_moments(ring: Ring, steps: Sequence[int], n: int = 4) -> Picture:
    """The chunks of `n` ranks after each of `steps` steps, two pictures beside each other."""
    return draw_moments(ring_moments(ring, n), steps)


def draw_moment(moments: list[Moment], step: int) -> Picture:
    """A grid of ranks and chunks after `step` steps; arrows show what is sent next."""
    return draw_moments(moments, [step])


@styled
def draw_moments(moments: list[Moment], steps: Sequence[int]) -> Picture:
    """Grids as `draw_moment` draws them; several have their own titles."""
    from matplotlib.patches import Patch

    n, beside = len(moments[0]), min(2, len(steps))
    high = ceil(len(steps) / beside)
    alone = len(steps) == 1
    title = _title(moments, steps[0]) if alone else "A ring: sums grow, then travel round it"
    figure = new_figure(title, 0.6 + high * (0.6 + 0.62 * n))
    panels = figure.subplots(high, beside, squeeze=False).flat
    said = []
    for axes, step in zip(panels, steps, strict=False):
        if not alone:
            axes.set_title(_title(moments, step), loc="left", fontsize=11)
            said.append(_title(moments, step))
        said += _draw_grid(axes, moments, step)
    keys = [Patch(fc=colour, ec="#999999", label=name) for name, colour in MEANS.items()]
    figure.legend(handles=keys, ncols=3, loc="outside lower left", frameon=False, fontsize=10)
    return render(figure, title, said)


def _title(moments: list[Moment], step: int) -> str:
    n, last = len(moments[0]), len(moments) - 1
    phase = "reduce_scatter" if step < n - 1 else "all_gather"
    return (
        f"{step} of {last} steps done; next: {phase}" if step < last else f"All {last} steps done"
    )


def _draw_grid(axes: "Axes", moments: list[Moment], step: int) -> list[str]:
    """Draws one grid; returns it in words."""
    from matplotlib.patches import Rectangle

    n, last = len(moments[0]), len(moments) - 1
    said = []
    axes.set_axis_off()
    for rank, row in enumerate(moments[step]):
        axes.text(-0.1, -rank - 0.5, f"rank {rank}", ha="right", va="center")
        said.append(f"  rank {rank}: {' '.join(f'{value:0{n}d}' for value in row)}")
        for place, value in enumerate(row):
            parts = str(value).count("1")
            own, partial_sum, complete = MEANS.values()
            colour = complete if parts == n else partial_sum if parts > 1 else own
            corner = (place + 0.03, -rank - 0.93)
            axes.add_patch(Rectangle(corner, 0.94, 0.86, facecolor=colour, edgecolor="#999999"))
            axes.text(place + 0.5, -rank - 0.42, f"{value:0{n}d}", ha="center", va="center")
            if step < last and place == _sent(n, rank, step):
                said[-1] += f", sends chunk {place} to rank {(rank + 1) % n}"
                note = f"→ rank {(rank + 1) % n}"
                axes.text(place + 0.5, -rank - 0.78, note, ha="center", va="center", fontsize=8,
                          color=INK)  # fmt: skip
    for place in range(n):
        axes.text(place + 0.5, 0.15, f"chunk {place}", ha="center", fontsize=10)
    axes.set(xlim=(-0.9, max(n, 4) + 0.1), ylim=(-n, 0.45))
    return said


def _sent(n: int, rank: int, step: int) -> int:
    """The chunk that a rank sends in its next step."""
    if step < n - 1:
        return (rank - step) % n
    return (rank + 1 - (step - (n - 1))) % n
