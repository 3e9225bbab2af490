"""A widget: one pipeline schedule, its idle time and its stored activations."""

from collections.abc import Callable, Mapping

from course_utils.chapters.tensor_and_pipeline.pipeline_pictures import draw_pipelines
from course_utils.chapters.tensor_and_pipeline.pipeline_run import UNIT_TIMES, Schedule, simulate
from course_utils.figures import style
from course_utils.figures.controls import Controls, choice, slider


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
