"""Records spans of work on rows (threads, streams, ranks) and draws them."""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from course_utils.figures import alt_text, style

NARROW = 0.003  # of the whole: an edge as wide as the bar would hide it


@dataclass(frozen=True)
class Span:
    """Work `label` on `row`, from `start` to `end` seconds of one clock, with a `note` inside."""

    row: str
    label: str
    start: float
    end: float
    note: str = ""

    @property
    def seconds(self) -> float:
        return self.end - self.start


class Spans(list[Span]):
    """A list of spans that times blocks and calls, from any thread."""

    @contextmanager
    def span(self, label: str, row: str | None = None, note: str = "") -> Iterator[None]:
        """Times the block as one span; the row is the thread's name unless given."""
        start = time.perf_counter()
        try:
            yield
        finally:
            name = row or threading.current_thread().name
            self.append(Span(name, label, start, time.perf_counter(), note))

    def timed(self, fn: Callable[[], Any], label: str, row: str | None = None) -> Callable[[], Any]:
        """Wraps `fn` so that each call is timed as a span."""

        def call() -> Any:
            with self.span(label, row):
                return fn()

        return call


@style.styled
def draw(
    spans: Iterable[Span],
    title: str,
    rows: Iterable[str] | None = None,
    *,
    exact: bool = False,
    colours: Mapping[str, str] | None = None,
) -> style.Picture:
    """Draws each span as a bar, one line for each row; time begins at 0 with the first span.

    Rows are in the order of `rows`, else of their first spans. Each label has a colour, which
    `colours` may choose; a note is drawn where it fits. `exact` means that the spans were computed
    or published, not measured.
    Raises: ValueError for no spans.
    """
    spans = sorted(spans, key=lambda s: s.start)
    if not spans:
        raise ValueError("There are no spans to draw: did the work that was to be timed run?")
    names = list(dict.fromkeys(rows or [s.row for s in spans]))
    labels = list(dict.fromkeys(s.label for s in spans))
    start, end = spans[0].start, max(s.end for s in spans)
    scale, unit = style.axis_unit(end - start or 1e-9, "seconds")
    figure = style.new_figure(title, 1.9 + 0.55 * len(names))
    axes, others = figure.subplots(), style.OTHER_KINDS
    chosen = style.KINDS | dict(colours or {})
    for place, label in enumerate(labels):
        mine = [s for s in spans if s.label == label]
        axes.barh(
            [names.index(s.row) for s in mine],
            [s.seconds / scale for s in mine],
            left=[(s.start - start) / scale for s in mine],
            height=0.72, color=chosen.get(label, others[place % len(others)]),
            edgecolor="white", label=label,
            linewidth=[0.6 * (s.seconds > NARROW * (end - start)) for s in mine],
        )  # fmt: skip
    for s in spans:
        if s.note and s.seconds > 0.011 * (len(s.note) + 1) * (end - start):
            middle = ((s.start + s.end) / 2 - start) / scale
            y = names.index(s.row)
            axes.text(middle, y, s.note, ha="center", va="center", fontsize=10)
    style.name_rows(axes, names)
    axes.set(xlim=(0, (end - start) / scale), xlabel=unit)
    axes.legend(
        loc="lower right", bbox_to_anchor=(1, 1), ncols=len(labels), frameon=False, handlelength=1,
        fontsize=11,
    )  # fmt: skip
    said = [f"x: {unit if exact else 'time'}"]  # a live unit varies, and stands by its numbers
    for name in names:
        mine = [s for s in spans if s.row == name]
        bars = [(s.label, (s.start - start) / scale, (s.end - start) / scale, s.note) for s in mine]
        said.append(alt_text.spans(name, bars, unit, live=not exact))
    return style.render(figure, title, said)
