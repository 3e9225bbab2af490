"""The lanes of a trace: a thread or stream each, its events in rows in which none overlaps another.

In a lane of the host, annotations stand in rows of their own above operators and calls; in one of
a GPU, the profiler's notes stand above kernels and copies. An event that begins before the one
around it has ended is one row deeper, as in a flame graph.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from snapshots_and_traces.traces.report import printable
from snapshots_and_traces.traces.trace import STEP, Kind, Trace

BACKWARD = "autograd::engine::"
USING = (Kind.KERNEL, Kind.COPY)
PROFILERS_OWN = "Spans"  # the process to which Kineto writes that it was recording


@dataclass
class Lane:
    """The events of a thread or stream, row by row; in `rows` the places of each row's events.

    The first `bands` rows are annotations. `device` is -1 on the host.
    """

    name: str
    device: int
    bands: int
    rows: list[np.ndarray]

    def in_words(self) -> dict[str, Any]:
        """Describes the lane for the page, without its events."""
        sizes = [len(row) for row in self.rows]
        return {"name": self.name, "device": self.device, "bands": self.bands, "rows": sizes}


def lanes(trace: Trace) -> list[Lane]:
    """The threads of the host, that of the steps first; then the streams of each GPU; then others.

    What the profiler says of itself is left out.
    """
    order = np.argsort(trace.thread, kind="stable")
    ends = np.cumsum(np.bincount(trace.thread, minlength=len(trace.threads)))
    is_step, on_host = trace.named(STEP), (trace.device < 0) & (trace.kind != Kind.OTHER)
    several = len({trace.threads[i][0] for i in np.unique(trace.thread[on_host])}) > 1
    found = []
    for thread, places in enumerate(np.split(order, ends[:-1])):
        others = bool((trace.kind[places] == Kind.OTHER).all())
        if len(places) and not (others and trace.threads[thread][0] == PROFILERS_OWN):
            device = _device(trace, places)
            name = _name(trace, thread, device, places, several)
            sorting = _sorting(trace, thread, device, places, int(is_step[places].sum()))
            found.append((sorting, _lane(trace, name, device, places)))
    return [lane for _, lane in sorted(found, key=lambda one: one[0])]


def _sorting(
    trace: Trace, thread: int, device: int, places: np.ndarray, steps: int
) -> tuple[Any, ...]:
    """Smaller for what stands above: threads by steps and operators, then streams by number."""
    if device >= 0:
        number = trace.threads[thread][1].removeprefix("stream ").strip()
        whole = number.isascii() and number.isdecimal()
        return 1, device, int(number[:18]) if whole else -1, number
    kinds = trace.kind[places]
    if (kinds == Kind.OTHER).all():
        return 2, thread
    return 0, -steps, -int((kinds == Kind.OPERATOR).sum()), -len(places)


def _device(trace: Trace, places: np.ndarray) -> int:
    """The GPU of a stream; -1 for a thread that no kernel and no copy is on."""
    using = places[np.isin(trace.kind[places], USING)]
    return int(trace.device[using[0]]) if len(using) else -1


def _lane(trace: Trace, name: str, device: int, places: np.ndarray) -> Lane:
    kind = trace.kind[places]
    above = ~np.isin(kind, USING) if device >= 0 else kind == Kind.ANNOTATION
    bands = rows(trace.start, trace.end, places[above])
    below = rows(trace.start, trace.end, places[~above])
    return Lane(name, device, len(bands), bands + below)


def _name(trace: Trace, thread: int, device: int, places: np.ndarray, several: bool) -> str:
    """The name of a lane; with its process where there are several."""
    process, number = (printable(part) for part in trace.threads[thread])
    if device >= 0:
        return f"GPU {device}, stream {number.removeprefix('stream ')}"
    if (trace.kind[places] == Kind.OTHER).all():
        return f"other: {process}, {number}"
    of = f" of process {process}" if several else ""
    if number == process:
        return f"host, main thread{of}"
    names = {trace.names[i] for i in np.unique(trace.name[places])}
    backward = any(name.startswith(BACKWARD) for name in names)
    return f"host, thread {number}{of}{' (backward)' if backward else ''}"


def rows(start: np.ndarray, end: np.ndarray, places: np.ndarray) -> list[np.ndarray]:
    """These events by depth: in a row none overlaps another, and they are in order of time."""
    order = places[np.lexsort((places, -end[places], start[places]))]
    around: list[float] = []
    found: list[list[int]] = []
    starts, ends = start[order].tolist(), end[order].tolist()
    for place, begun, ended in zip(order.tolist(), starts, ends, strict=True):
        while around and begun >= around[-1]:
            around.pop()
        if len(around) == len(found):
            found.append([])
        found[len(around)].append(place)
        around.append(ended)
    return [np.array(row, np.int64) for row in found]
