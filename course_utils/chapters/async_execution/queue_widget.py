"""A widget: launch, run and return times, and who waits for whom."""

from course_utils.chapters.async_execution.streams import queue_spans
from course_utils.figures.controls import Controls, slider
from course_utils.figures.style import Picture
from course_utils.figures.timeline import draw


def command_queue() -> Controls:
    """Sliders over a two-row timeline of a command queue; times in microseconds."""
    return Controls(
        draw_queue,
        "Launch, run and return times move; the timeline shows who waits for whom",
        launch=slider("t1, launch (µs)", range(1, 101), 6),
        run=slider("t2, run (µs)", range(1, 101), 2),
        back=slider("t3, return (µs)", range(101), 3),
        n=slider("N, pieces of work", range(1, 21), 8),
        depth=slider("queue depth", range(1, 21), 4),
    )


def draw_queue(launch: int, run: int, back: int, n: int, depth: int) -> tuple[Picture, str]:
    """The timeline, and as HTML the two totals and the share of time that the GPU is busy."""
    spans = queue_spans(launch * 1e-6, run * 1e-6, back * 1e-6, n, depth)
    total = max(span.end for span in spans) * 1e6
    waiting = n * (launch + run + back)
    return draw(spans, title(launch, run, depth), ["CPU", "GPU"], exact=True), (
        f"queued: <b>{total:.0f} µs</b> · waiting after each launch, N·(t1+t2+t3): "
        f"<b>{waiting} µs</b> · {waiting / total:.2f} times faster · "
        f"GPU busy {n * run / total:.0%} of the time"
    )


def title(launch: int, run: int, depth: int) -> str:
    """Names the bottleneck. From a depth of 2 on, a launch overlaps with the work before it."""
    if depth == 1:
        return "A queue of one: CPU and GPU take turns"
    times = f"t1 = {launch}, t2 = {run} µs, queue depth {depth}"
    if launch > run:
        return f"Launch-bound: {times}"
    return f"{'Device-bound' if launch < run else 'Balanced'}: {times}"
