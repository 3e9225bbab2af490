"""A trace as a still picture: what a notebook shows of its page where no kernel runs."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from course_utils.figures import style
from course_utils.figures.drawn.figure import mark_local
from course_utils.traces import intervals
from course_utils.traces.idle import WAITS, idle_times
from course_utils.traces.page.kinds import IDLE, KINDS, kinds
from course_utils.traces.page.lanes import Lane, lanes
from course_utils.traces.report import WORDS
from course_utils.traces.trace import Kind, Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PIXELS = 640  # across all the time; what is narrower is drawn together
ROW, ROOM = 0.1, 0.14  # inches: a row's height, and what is between lanes
MOST_ROWS = 60
Box = tuple[float, float, float, float]  # begin and end in seconds, place and height in inches


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
    for why, colour in IDLE.items():
        _draw(axes, boxes[WORDS[why]], colour, WORDS[why], scale)
    for word, shades in KINDS.values():
        _draw(axes, boxes[word], shades[1], word, scale)
    axes.set(xlim=(0, _length(trace) / scale), ylim=(tops[-1], -ROOM), xlabel=unit)
    middles = [top + ROW * len(lane.rows) / 2 for top, lane in zip(tops, shown, strict=False)]
    axes.set_yticks(middles, [lane.name for lane in shown], fontsize=9)
    axes.tick_params(axis="y", length=0)
    figure.legend(loc="outside lower center", ncols=4, frameon=False, handlelength=1, fontsize=9)
    if not exact:
        axes.set_title("threads and streams", loc="left", fontsize=10)
        mark_local(axes)
    return style.render(figure, alt, live=not exact)


def _length(trace: Trace) -> float:
    """Seconds to the end of the last event, more than none."""
    return float(trace.end.max()) or 1e-9


def _boxes(trace: Trace, shown: list[Lane], tops: list[float]) -> dict[str, list[Box]]:
    """What is drawn, by its name in the legend."""
    of, words = kinds(trace), [word for word, _ in KINDS.values()]
    found: dict[str, list[Box]] = {name: [] for name in [*WORDS.values(), *words]}
    for lane, top in zip(shown, tops, strict=True):
        for why, begin, end in _idle(trace, lane):
            found[why].append((begin, end, top, ROW * len(lane.rows)))
        for depth, row in enumerate(lane.rows):
            for kind, begin, end in _merged(trace, of, row, depth < lane.bands):
                found[KINDS[kind][0]].append((begin, end, top + ROW * depth, 0.9 * ROW))
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


def _merged(
    trace: Trace, of: np.ndarray, row: np.ndarray, is_note: bool
) -> Iterator[tuple[int, float, float]]:
    """Kind, begin and end of what a row shows: its notes one by one, of others for each pixel the
    kind that filled most of it.
    """
    start, end, kind = trace.start[row], trace.end[row], of[row]
    if is_note and len(row) < PIXELS:
        yield from zip(kind.tolist(), start.tolist(), end.tolist(), strict=True)
        return
    edges = np.linspace(0, _length(trace), PIXELS + 1)
    pixels = np.column_stack([edges[:-1], edges[1:]])
    filled = np.zeros((len(KINDS), PIXELS))
    for one in np.unique(kind):
        seen = np.maximum(end, start + 0.01 * edges[1])[kind == one]  # an instant is seen too
        filled[one] = intervals.covered(intervals.union(start[kind == one], seen), pixels)
    most = np.where(filled.any(axis=0), filled.argmax(axis=0), -1)
    firsts = np.flatnonzero(np.append(True, most[1:] != most[:-1]))
    lasts = np.append(firsts[1:], PIXELS)
    for first, last in zip(firsts.tolist(), lasts.tolist(), strict=True):
        if most[first] >= 0:
            yield int(most[first]), float(edges[first]), float(edges[last])


def _idle(trace: Trace, lane: Lane) -> Iterator[tuple[str, float, float]]:
    """When a stream's GPU was idle, and why, but for times that no pixel shows."""
    if lane.device not in trace.devices:
        return
    found = idle_times(trace, lane.device, trace.window(lane.device))
    seen = found.seconds > _length(trace) / PIXELS
    for (begin, end), why in zip(found.spans[seen].tolist(), found.why[seen].tolist(), strict=True):
        yield WORDS[WAITS[why]], begin, end


def _draw(axes: "Axes", boxes: list[Box], colour: str, label: str, scale: float) -> None:
    from matplotlib.collections import PolyCollection

    if not boxes:
        return
    corners = [
        [(a / scale, y), (b / scale, y), (b / scale, y + h), (a / scale, y + h)]
        for a, b, y, h in boxes
    ]
    edge = 0.6 if label == KINDS[Kind.ANNOTATION][0] else 0.0
    axes.add_collection(
        PolyCollection(corners, facecolor=colour, edgecolor="white", linewidth=edge, label=label)
    )
