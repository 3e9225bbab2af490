"""Draws pipelines below each other on one time axis."""

from collections.abc import Callable, Iterator, Mapping

from course_utils.chapters.tensor_and_pipeline.pipeline_run import UNIT_TIMES, Schedule, simulate
from course_utils.figures import alt_text, style
from course_utils.figures.controls import Controls, choice, slider
from course_utils.figures.timeline import Span

KINDS = {
    "F": ("#56B4E9", "forward"),
    "B": ("#E69F00", "backward"),
    "I": ("#DDA0C4", "input's gradient"),
    "W": ("#8CC9A1", "weights' gradient"),
}
INCHES_A_ROW, WIDEST = 0.24, 7.1  # of a row's height, and of the axes
INCHES_A_DIGIT = 0.07
UNIT = "forward passes of one micro-batch on one stage"


@style.styled
def draw_pipelines(title: str, pipelines: Mapping[str, list[Span]]) -> style.Picture:
    """Draws a panel for each pipeline and a row for each rank; numbers are micro-batches.

    Spans are those of `PipelineRun.spans`: labelled F, B, I or W, with a + for a rank's later
    stages, which are paler. Raises: ValueError for a pipeline without spans.
    """
    from matplotlib.patches import Patch

    if not pipelines or not all(pipelines.values()):
        raise ValueError("A pipeline has no spans to draw: give those of a run that computed.")
    rows = [len({s.row for s in spans}) for spans in pipelines.values()]
    height = 1.0 + INCHES_A_ROW * sum(rows) + 0.3 * len(rows)
    figure = style.new_figure(title, height)
    panels = figure.subplots(
        len(rows), 1, sharex=True, squeeze=False, height_ratios=[n + 0.2 for n in rows]
    )[:, 0]
    longest = max(
        max(s.end for s in spans) - min(s.start for s in spans) for spans in pipelines.values()
    )
    said = [f"x: {UNIT}"]
    for axes, (name, spans) in zip(panels, pipelines.items(), strict=True):
        _panel(axes, name, spans, longest)
        said += [name, *_told(spans)]
    later = any(len(s.label) > 1 for p in pipelines.values() for s in p)
    panels[-1].set(xlim=(0, longest))
    panels[-1].set_xlabel(f"{UNIT}{' (paler: a later stage)' if later else ''}", fontsize=11)
    used = [
        kind for kind in KINDS if any(s.label[0] == kind for p in pipelines.values() for s in p)
    ]
    panels[0].legend(
        handles=[Patch(color=KINDS[kind][0], label=KINDS[kind][1]) for kind in used],
        loc="lower right", bbox_to_anchor=(1, 0.97), ncols=len(used), frameon=False,
        handlelength=1, fontsize=10, borderpad=0.1,
    )  # fmt: skip
    return style.render(figure, title, said)


def _told(spans: list[Span]) -> Iterator[str]:
    """The alternative text: a line for each rank."""
    first = min(s.start for s in spans)
    for rank in sorted({s.row for s in spans}):
        bars = [
            (_kind(s.label), s.start - first, s.end - first, s.note) for s in spans if s.row == rank
        ]
        yield alt_text.spans(rank, bars, UNIT)


def _kind(label: str) -> str:
    return KINDS[label[0]][1] + ", later stage" * (len(label) > 1)


def _panel(axes: "style.Axes", name: str, spans: list[Span], longest: float) -> None:
    ranks, first = sorted({s.row for s in spans}), min(s.start for s in spans)
    for label in sorted({s.label for s in spans}):
        mine, colour = [s for s in spans if s.label == label], KINDS[label[0]][0]
        axes.barh(
            [ranks.index(s.row) for s in mine],
            [s.seconds for s in mine],
            left=[s.start - first for s in mine], label=_kind(label),
            height=0.9, color=style.shade(colour, 3 if len(label) > 1 else 2, 5),
            edgecolor="white", linewidth=0.7,
        )  # fmt: skip
    for s in spans:
        room = s.seconds / longest * WIDEST / (INCHES_A_DIGIT * max(len(s.note), 1))
        if s.note and room > 1:
            y, middle = ranks.index(s.row), (s.start + s.end) / 2 - first
            size = 9.5 if room > 1.4 else 8
            note = axes.text(middle, y, s.note, ha="center", va="center_baseline", fontsize=size)
            note.set_in_layout(False)  # it lies within its bar
    style.name_rows(axes, ranks, above=0.5)
    axes.tick_params(axis="both", labelsize=9)
    axes.set_title(name, loc="left", fontsize=11, pad=3)


def pipeline_explorer(schedules: Mapping[str, Callable[[int, int], Schedule]]) -> Controls:
    """Controls over a simulated pipeline: schedule, ranks, micro-batches, cost of the last stage.

    `schedules` has a function of (ranks, micro-batches) for each name, with one stage per rank.
    """

    def draw(order: str, ranks: int, batches: int, last: int) -> tuple[style.Picture, str]:
        times = {kind: [time] * (ranks - 1) + [last * time] for kind, time in UNIT_TIMES.items()}
        run = simulate(schedules[order](ranks, batches), times)
        idle = f"{100 * float(run.bubble):.0f}% idle"
        title = f"{order}, {ranks} ranks, {batches} micro-batches: {idle}"
        held = ", ".join(map(str, run.alive))
        said = f"{idle}; the step takes <b>{float(run.makespan):g}</b> forward passes"
        said += f"; ranks hold the activations of up to <b>{held}</b> micro-batches"
        return draw_pipelines(title, {order: run.spans()}), said

    return Controls(
        draw,
        "A pipeline schedule: who computes when",
        order=choice("schedule", tuple(schedules), next(iter(schedules))),
        ranks=slider("ranks", (1, 2, 3, 4, 6, 8), 8),
        batches=slider("micro-batches", (1, 2, 4, 8, 16, 32), 8),
        last=slider("the last stage costs", (1, 2, 3, 4, 5), 1),
    )
