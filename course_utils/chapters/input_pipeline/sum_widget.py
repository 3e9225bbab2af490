"""A widget: how many numbers a sum has, and which part of its time they take."""

from functools import partial

from course_utils.core.evidence import Series
from course_utils.figures.compare import compare_bars
from course_utils.figures.controls import Controls, slider
from course_utils.figures.style import Picture

SIZES = tuple(10**k for k in range(7))


def sum_explorer(start_seconds: float, seconds_per_number: float) -> Controls:
    """A slider for the size over two bars, by the model `start + numbers`; times in seconds."""
    return Controls(
        partial(draw_parts, start_seconds=start_seconds, seconds_per_number=seconds_per_number),
        "The size moves; the bars show when its numbers take longer than its start",
        size=slider("numbers", SIZES, 100),
    )


def draw_parts(size: int, start_seconds: float, seconds_per_number: float) -> tuple[Picture, str]:
    """The two bars, and in words which of them is longer, as HTML."""
    parts = {"its start": start_seconds, "its numbers": size * seconds_per_number}
    title = f"A sum of {size:,} numbers, by the model"
    times = parts["its numbers"] / parts["its start"]
    reading = f"Its numbers take <b>{times:.2g}</b> times as long as its start."
    return compare_bars(title, Series(parts, "live", "by what was measured here")), reading
