"""A figure: some milliseconds of a trace, its host above its GPU, with marks to read it by."""

from collections.abc import Iterator, Mapping

import numpy as np

from course_utils.figures import alt_text, style
from snapshots_and_traces.trace_viewer.kinds import KINDS, PARTS
from snapshots_and_traces.traces import intervals
from snapshots_and_traces.traces.idle import waits
from snapshots_and_traces.traces.trace import Kind, Trace

ROWS = (
    "host, main thread",
    "host, backward thread",
    "launched, not yet begun",
    "GPU, first stream",
    "GPU, other streams",
    "GPU idle",
)
QUEUE, IDLE = 2, 5  # rows that aren't a thread or a stream
WAIT = "call that waits"
COLOURS = {
    "operator": KINDS[int(Kind.OPERATOR)][1][1],
    "launch": KINDS[int(Kind.RUNTIME)][1][0],
    WAIT: "#E69F00",
    "kernel": PARTS["computing"],
    "NCCL": PARTS["communication"],
    "copy": PARTS["copying"],
    "idle": "#555555",
}
MARK = "#B00020"
Bars = dict[tuple[int, str], np.ndarray]  # by row and what it is: moments, as rows of an array


@style.styled
def draw_zoom(
    title: str,
    trace: Trace,
    window: tuple[float, float],
    marks: Mapping[str, tuple[int, float]],
    arrow: tuple[float, float],
) -> style.Picture:
    """Draws what a trace's two host threads and first GPU did in a window of seconds.

    `marks` are words at a row and a moment; the arrow goes from a launch on the backward thread to
    its kernel on the GPU's first stream. Nothing live: the trace was published.
    """
    bars, (times, counts) = _bars(trace, window), queue(trace, window)
    figure, axes = style.one_panel(title, 5.0)
    for (row, what), spans in bars.items():
        pieces = [(1e3 * begin, 1e3 * (end - begin)) for begin, end in spans.tolist()]
        colour, thin = COLOURS[what], 0.8 * (what == "launch")
        axes.broken_barh(pieces, (row - 0.36, 0.72), color=colour, linewidth=thin)
    heights = QUEUE + 0.4 - 0.8 * counts / max(counts.max(), 1)
    axes.fill_between(1e3 * times, QUEUE + 0.4, heights, step="post", color="#9AA7B5")
    for words, (row, moment) in marks.items():
        look = {"boxstyle": "circle,pad=0.15", "facecolor": "white", "edgecolor": MARK}
        at = (1e3 * moment, row)
        axes.annotate(words, at, ha="center", va="center", color=MARK, fontsize=10, bbox=look)
    launch, kernel = arrow
    line = {"arrowstyle": "->", "color": MARK, "linewidth": 1.6}
    axes.annotate("", (1e3 * kernel, 2.62), (1e3 * launch, 1.38), arrowprops=line)
    style.name_rows(axes, ROWS)
    axes.set(xlim=[1e3 * edge for edge in window], xlabel="milliseconds of the trace")
    drawn = {what: COLOURS[what] for _, what in bars if what != "idle"}
    style.key_below(figure, drawn, 6)
    said = ["x: milliseconds", *_in_words(bars), f"  {ROWS[QUEUE]}: {counts[0]} to {counts[-1]}"]
    said += [f"  {words}: at {1e3 * at:.2f}, {ROWS[row]}" for words, (row, at) in marks.items()]
    return style.render(figure, title, said)


def queue(trace: Trace, window: tuple[float, float]) -> tuple[np.ndarray, np.ndarray]:
    """Returns moments of a window, and how many launches had returned and not begun at each."""
    work = np.isin(trace.kind, (Kind.KERNEL, Kind.COPY)) & (trace.launch >= 0)
    launched, begun = np.sort(trace.end[trace.launch[work]]), np.sort(trace.start[work])
    times = np.linspace(*window, 700)
    ahead = np.searchsorted(launched, times, "right") - np.searchsorted(begun, times, "right")
    return times, np.maximum(ahead, 0)


def _bars(trace: Trace, window: tuple[float, float]) -> Bars:
    """The bars of each row, cut at the window's edges."""
    device = trace.devices[0]
    main = trace.thread[trace.launch[trace.on(device, Kind.KERNEL)]][0]
    on_gpu, on_host = trace.device == device, trace.device < 0
    first = np.bincount(trace.thread[trace.on(device, Kind.KERNEL)]).argmax()
    launching = np.zeros(len(trace.kind), bool)
    launching[trace.launch[on_gpu & (trace.launch >= 0)]] = True
    found: Bars = {}
    for row, host in enumerate(
        (on_host & (trace.thread == main), on_host & (trace.thread != main))
    ):
        found[row, "operator"] = trace.moments(host & (trace.kind == Kind.OPERATOR))
        found[row, "launch"] = trace.moments(host & launching)
    found[0, WAIT] = waits(trace)
    for row, stream in ((3, trace.thread == first), (4, trace.thread != first)):
        kernels = trace.on(device, Kind.KERNEL) & stream
        found[row, "kernel"] = trace.moments(kernels & ~trace.messages)
        found[row, "NCCL"] = trace.moments(kernels & trace.messages)
        found[row, "copy"] = trace.moments(trace.on(device, Kind.COPY) & stream)
    used = trace.moments(on_gpu & np.isin(trace.kind, (Kind.KERNEL, Kind.COPY)))
    found[IDLE, "idle"] = intervals.gaps(used, *window)
    cut = {key: intervals.within(spans, *window) for key, spans in found.items()}
    return {key: spans for key, spans in cut.items() if len(spans)}


def _in_words(bars: Bars) -> Iterator[str]:
    for row, name in enumerate(ROWS):
        mine = [
            (what, 1e3 * begin, 1e3 * end, "")
            for (at, what), spans in bars.items()
            for begin, end in spans.tolist()
            if at == row
        ]
        if mine:
            yield alt_text.spans(name, mine, "milliseconds")
