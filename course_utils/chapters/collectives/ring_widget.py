"""A widget: the ring all_reduce, step by step, with the chunks that each rank really holds."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from course_utils.chapters.collectives.by_hand import Net
from course_utils.chapters.collectives.rank_blocks import PALETTE
from course_utils.chapters.collectives.simulated_ranks import SimulatedNet, simulate
from course_utils.figures.controls import Controls, slider
from course_utils.figures.style import INK, Picture, one_panel, render, styled

if TYPE_CHECKING:
    import torch

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


@styled
def draw_moment(moments: list[Moment], step: int) -> Picture:
    """A grid of ranks and chunks after `step` steps; arrows show what is sent next."""
    from matplotlib.patches import Rectangle

    n, last = len(moments[0]), len(moments) - 1
    phase = "reduce_scatter" if step < n - 1 else "all_gather"
    title = (
        f"{step} of {last} steps done; next: {phase}" if step < last else f"All {last} steps done"
    )
    figure, axes = one_panel(title, 1.2 + 0.62 * n)
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
    for place, (name, colour) in enumerate(MEANS.items()):
        left = place * max(n, 4) / 3
        box = Rectangle((left, -n - 0.42), 0.2, 0.2, facecolor=colour, edgecolor="#999999")
        axes.add_patch(box)
        axes.text(left + 0.28, -n - 0.32, name, va="center", fontsize=10)
    for place in range(n):
        axes.text(place + 0.5, 0.15, f"chunk {place}", ha="center", fontsize=10)
    axes.set(xlim=(-0.9, max(n, 4) + 0.1), ylim=(-n - 0.5, 0.45))
    return render(figure, title, said)


def _sent(n: int, rank: int, step: int) -> int:
    """The chunk that a rank sends in its next step."""
    if step < n - 1:
        return (rank - step) % n
    return (rank + 1 - (step - (n - 1))) % n
