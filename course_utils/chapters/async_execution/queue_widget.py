"""A widget: launch, run and return times, and who waits for whom."""

from typing import Any

import ipywidgets as widgets

from course_utils.chapters.async_execution.streams import queue_spans
from course_utils.figures.still import Still
from course_utils.figures.timeline import Span, draw


def command_queue(launch_us: int = 10, run_us: int = 40, n: int = 10, depth: int = 4) -> Still:
    """Sliders over a two-row timeline of a command queue; times in microseconds."""

    def slider(value: int, low: int, high: int, text: str) -> widgets.IntSlider:
        style = {"description_width": "150px"}
        layout = widgets.Layout(width="420px")
        return widgets.IntSlider(
            value, low, high, description=text, style=style, layout=layout, continuous_update=False
        )

    controls = [
        slider(launch_us, 1, 100, "t1, launch (µs)"),
        slider(run_us, 1, 100, "t2, run (µs)"),
        slider(10, 0, 100, "t3, return (µs)"),
        slider(n, 1, 20, "N, pieces of work"),
        slider(depth, 1, 20, "queue depth"),
    ]
    picture = widgets.Image(format="png", layout=widgets.Layout(max_width="800px"))
    reading = widgets.HTML()

    def update(_change: Any = None) -> None:
        times = [control.value for control in controls]
        spans = queue_spans(*(t * 1e-6 for t in times[:3]), *times[3:])
        picture.value = draw(spans, title(*times[:2]), ["frontend", "backend"]).png
        reading.value = explain(spans, *times[:4])

    for control in controls:
        control.observe(update, "value")
    update()
    alt = "Launch, run and return times move; the timeline shows who waits for whom"
    return Still([*controls, picture, reading], picture, alt)


def title(launch: int, run: int) -> str:
    """Which side is the bottleneck."""
    if launch > run:
        return "Launch-bound: the backend starves between launches"
    if launch < run:
        return "Device-bound: the frontend runs ahead, until the queue is full"
    return "Balanced: neither side waits for the other"


def explain(spans: list[Span], launch: int, run: int, back: int, n: int) -> str:
    """The two totals and the backend's share of busy time, as HTML."""
    total = max(span.end for span in spans) * 1e6
    waiting = n * (launch + run + back)
    return (
        f"queued: <b>{total:.0f} µs</b> · waiting after each launch, N·(t1+t2+t3): "
        f"<b>{waiting} µs</b> · {waiting / total:.2f} times faster · "
        f"backend busy {n * run / total:.0%} of the time"
    )
