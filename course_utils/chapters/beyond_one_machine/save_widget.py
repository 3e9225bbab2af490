"""A widget: a day of a run that is stopped now and then: what it keeps, loses, saves, restarts."""

import random
from functools import partial
from itertools import accumulate

from course_utils.chapters.beyond_one_machine.stopped_runs import (
    Piece,
    pieces,
    seconds_of,
    share_kept,
)
from course_utils.figures import alt_text, style
from course_utils.figures.controls import Controls, slider

HOUR = 3600
ROW = 3 * HOUR  # of a day, which is drawn in eight rows
RESTART_SECONDS = 300
COLOURS = {"kept": "#009E73", "lost": "#D55E00", "saving": "#F0E442", "restarting": "#BBBBBB"}
WORDS = {"lost": "lost, or not saved yet"}
GPUS = [2**k for k in range(10, 18)]
SAVE_SECONDS = [1, 5, 15, 30, 60, 120, 300, 600]
MINUTES = [1, 2, 5, 10, 20, 40, 60, 120, 240, 480]


def save_explorer(gpu_hours: float) -> Controls:
    """GPUs, seconds of a save and minutes between saves, over a day of the run.

    `gpu_hours` is how many hours one GPU runs from a stop to the next, in the mean.
    """
    return Controls(
        partial(draw_day, gpu_hours=gpu_hours),
        "A day of a run in eight rows: work kept and lost, saves and restarts, as the sliders say",
        gpus=slider("GPUs", GPUS, 16384),
        save_seconds=slider("seconds of a save", SAVE_SECONDS, 60),
        minutes=slider("minutes between saves", MINUTES, 60),
    )


def draw_day(
    gpus: int, save_seconds: int, minutes: int, gpu_hours: float
) -> tuple[style.Picture, str]:
    """The day's pieces, and as HTML the share kept in the long run, and the best interval's."""
    between = gpu_hours * HOUR / gpus
    run = pieces(_stops(between), 8 * ROW, 60 * minutes, save_seconds, RESTART_SECONDS)
    best = (2 * save_seconds * between) ** 0.5 - save_seconds
    kept, most = (
        share_kept(x, save_seconds, RESTART_SECONDS, between) for x in (60 * minutes, best)
    )
    unit, name = (HOUR, "hours") if between >= HOUR else (60, "minutes")
    said = (
        f"a stop every {between / unit:.3g} {name} · kept in the long run: <b>{kept:.0%}</b> · "
        f"best by √(2δM) − δ: every <b>{best / 60:.2g} minutes</b>, which keeps <b>{most:.0%}</b>"
    )
    day = f"{gpus:,} GPUs, a save every {minutes} minutes: one day ({kept:.0%} kept in a long run)"
    return _draw_rows(run, day), said


def _stops(between: float) -> list[float]:
    """The moments of a day's stops: the same days for all, stretched to their mean."""
    draws = random.Random(14)
    gaps = (between * draws.expovariate(1) for _ in range(1000))
    return [moment for moment in accumulate(gaps) if moment < 8 * ROW]


@style.styled
def _draw_rows(run: list[Piece], title: str) -> style.Picture:
    """The pieces on rows of three hours, their whole time by kind in the legend."""
    figure, axes = style.one_panel(title, 4.4)
    said = []
    for kind, colour in COLOURS.items():
        found = [piece for piece in run if piece.kind == kind]
        label = f"{WORDS.get(kind, kind)} {seconds_of(kind, run) / (8 * ROW):.0%}"
        _bars(axes, found, colour, label)
        edges = alt_text.digest([(piece.start, piece.end) for piece in found])
        said.append(f"  {label}: in {len(found)} stretches {edges}")
    style.name_rows(axes, [f"{3 * row}:00" for row in range(8)])
    axes.set(xlim=(0, 180), xlabel="minutes", ylabel="the row begins at (hours)")
    axes.legend(
        loc="lower right",
        bbox_to_anchor=(1, 1),
        ncols=4,
        frameon=False,
        handlelength=1,
        fontsize=11,
    )
    return style.render(figure, title, said)


def _bars(axes: "style.Axes", found: list[Piece], colour: str, label: str) -> None:
    """One kind's pieces, cut where a row ends."""
    rows: list[list[tuple[float, float]]] = [[] for _ in range(8)]  # starts and widths, in minutes
    for piece in found:
        for row in range(int(piece.start // ROW), 8):
            start, end = max(piece.start, row * ROW), min(piece.end, (row + 1) * ROW)
            if end > start:
                rows[row].append(((start - row * ROW) / 60, (end - start) / 60))
    for row, bars in enumerate(rows):  # an empty one too, so that each kind is in the legend
        said = label if row == 0 else ""
        axes.broken_barh(bars, (row - 0.4, 0.8), color=colour, linewidth=0, label=said)
