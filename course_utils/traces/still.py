"""A trace's page with a still picture: what a notebook keeps of it, for where no kernel runs."""

from collections.abc import Iterator
from os import PathLike

import numpy as np

from course_utils.core.measurement import format_seconds
from course_utils.figures import alt_text, style
from snapshots_and_traces.trace_viewer import page as viewer
from snapshots_and_traces.trace_viewer.kinds import IDLE, KINDS, kinds
from snapshots_and_traces.trace_viewer.lanes import Lane, lanes
from snapshots_and_traces.trace_viewer.page import TracePage
from snapshots_and_traces.traces import intervals
from snapshots_and_traces.traces.idle import WAITS, idle_times
from snapshots_and_traces.traces.report import WORDS
from snapshots_and_traces.traces.trace import Kind, Trace

PIXELS = 640  # across all the time; what is narrower is drawn together
ROW, ROOM = 0.1, 0.14  # inches: a row's height, and what is between lanes
MOST_ROWS = 60
SHADES = 4  # by how much of a pixel is filled
COLOURS = {WORDS[why]: colour for why, colour in IDLE.items()} | {
    word: shades[1] for word, shades in KINDS.values()
}
Part = tuple[int, float, float, float]  # what it is, begin and end in seconds, how much is filled
Box = tuple[float, float, float, float, float]  # the same without what, top and height in inches


class PicturedPage(TracePage):
    """The page of a trace, of which a notebook keeps a still picture and its words.

    `exact` traces were published, so that a notebook keeps all their words; of others, which the
    next run makes anew, it keeps what doesn't change.
    """

    exact = False

    def stored(self) -> dict[str, str]:
        took = format_seconds(float(self.trace.end.max()))
        said = f"a trace of ≈ {len(self.trace.start):,} events in {took}"
        alt = f"{self.name}: {' '.join(self.sentences) if self.exact else said}"
        picture = draw_still(self.trace, self.name, alt, exact=self.exact)
        return picture.bundle(f"[widget] {alt}")


def trace_page(
    trace: "str | PathLike[str] | Trace", name: str = "trace", *, exact: bool = False
) -> PicturedPage:
    """`snapshots_and_traces.trace_page`, with the still picture; `exact` as in `PicturedPage`."""
    page = viewer.trace_page(trace, name)
    pictured = PicturedPage(page.trace, page.name)
    pictured.exact = exact
    return pictured


@style.styled
def draw_still(trace: Trace, name: str, alt: str, *, exact: bool) -> style.Picture:
    """The whole trace: a lane for each thread and stream, and when each GPU was idle.

    `exact` says that the trace was published; else what it shows differs from run to run.
    """
    found = lanes(trace)
    shown = _shown(found)
    tops = np.cumsum([0.0, *(ROOM + ROW * len(lane.rows) for lane in shown)])
    which = "all" if len(shown) == len(found) else f"the first {len(shown)} of {len(found)}"
    title = f"{name}: what {which} threads and streams did"
    figure, axes = style.one_panel(title, float(tops[-1]) + 1.5)
    scale, unit = style.axis_unit(_length(trace), "seconds")
    boxes = _boxes(trace, shown, tops[:-1].tolist())
    colours = {word: colour for word, colour in COLOURS.items() if boxes[word]}
    for word, colour in colours.items():
        _draw(axes, boxes[word], colour, word, scale)
    axes.set(xlim=(0, _length(trace) / scale), ylim=(tops[-1], -ROOM), xlabel=unit)
    middles = [top + ROW * len(lane.rows) / 2 for top, lane in zip(tops, shown, strict=False)]
    axes.set_yticks(middles, [lane.name for lane in shown], fontsize=9)
    axes.tick_params(axis="y", length=0)
    style.key_below(figure, colours, 4, loc="outside lower center", handlelength=1, fontsize=9)
    if not exact:
        axes.set_title("threads and streams", loc="left", fontsize=10)
        lanes_here = alt_text.local(", ".join(lane.name for lane in shown))
        return style.render(figure, alt, [f"threads and streams: {lanes_here}"], 200)
    said = [title, *(f"  {lane.name}, {len(lane.rows)} deep" for lane in shown)]
    said += (
        f"  {word}: {len(boxes[word])} boxes {alt_text.digest(boxes[word])}" for word in colours
    )
    return style.render(figure, alt, said, 200)


def _length(trace: Trace) -> float:
    """Seconds to the end of the last event, more than none."""
    return float(trace.end.max()) or 1e-9


def _boxes(trace: Trace, shown: list[Lane], tops: list[float]) -> dict[str, list[Box]]:
    """The bars to draw, by name in the legend; idle times once, above the GPU's first stream."""
    of, found = kinds(trace), {word: list[Box]() for word in COLOURS}
    drawn = set[int]()
    for lane, top in zip(shown, tops, strict=True):
        for why, begin, end, share in () if lane.device in drawn else _idle(trace, lane):
            found[WORDS[WAITS[why]]].append((begin, end, share, top - 0.8 * ROOM, 0.5 * ROOM))
        drawn.add(lane.device)
        for depth, row in enumerate(lane.rows):
            for kind, begin, end, share in _merged(trace, of, row, depth < lane.bands):
                box = begin, end, share, top + ROW * depth, 0.9 * ROW
                found[KINDS[kind][0]].append(box)
    return found


def _shown(found: list[Lane]) -> list[Lane]:
    """The lanes that there is room for, each with its first rows."""
    room, kept = MOST_ROWS, []
    for lane in found:
        rows = lane.rows[: max(room, 1)]
        kept.append(Lane(lane.name, lane.device, lane.bands, rows))
        room -= len(rows)
        if room <= 0:
            break
    return kept


def _merged(trace: Trace, of: np.ndarray, row: np.ndarray, is_note: bool) -> Iterator[Part]:
    """The bars of a row for each kind: its notes one by one, of others what fills each pixel."""
    start, end, kind = trace.start[row], trace.end[row], of[row]
    if is_note and len(row) < PIXELS:
        for one, begun, ended in zip(kind.tolist(), start.tolist(), end.tolist(), strict=True):
            yield one, begun, ended, 1.0
        return
    for one in np.unique(kind).tolist():
        of_kind = kind == one
        seen = np.maximum(end, start + 0.01 * _length(trace) / PIXELS)  # an instant is seen too
        yield from _pixels(trace, one, intervals.union(start[of_kind], seen[of_kind]))


def _idle(trace: Trace, lane: Lane) -> Iterator[Part]:
    """When a stream's GPU was idle, by the place of its cause in WAITS."""
    if lane.device not in trace.devices:
        return
    found = idle_times(trace, lane.device, trace.window(lane.device))
    for why in range(len(WAITS)):
        yield from _pixels(trace, why, found.spans[found.why == why])


def _pixels(trace: Trace, what: int, spans: np.ndarray) -> Iterator[Part]:
    """The pixels that such times fill, those side by side that are filled alike as one."""
    edges = np.linspace(0, _length(trace), PIXELS + 1)
    filled = intervals.covered(spans, np.column_stack([edges[:-1], edges[1:]]))
    shades = np.ceil(SHADES * filled / edges[1] - 1e-6)
    firsts = np.flatnonzero(np.append(True, shades[1:] != shades[:-1]))
    lasts = np.append(firsts[1:], PIXELS)
    for first, last in zip(firsts.tolist(), lasts.tolist(), strict=True):
        if shades[first] > 0:
            yield what, float(edges[first]), float(edges[last]), float(shades[first] / SHADES)


def _draw(axes: "style.Axes", boxes: list[Box], colour: str, label: str, scale: float) -> None:
    from matplotlib.collections import PolyCollection
    from matplotlib.colors import to_rgba

    corners = [
        [(a / scale, y), (b / scale, y), (b / scale, y + h), (a / scale, y + h)]
        for a, b, _, y, h in boxes
    ]
    axes.add_collection(
        PolyCollection(
            corners, facecolor=[to_rgba(colour, share) for _, _, share, _, _ in boxes],
            edgecolor="white", linewidth=0.6 if label == KINDS[Kind.ANNOTATION][0] else 0.0,
            label=label,
        )
    )  # fmt: skip
