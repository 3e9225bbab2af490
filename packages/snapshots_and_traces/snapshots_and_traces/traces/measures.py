"""Where the time of a trace went: small sums over its columns, each with its definition."""

from dataclasses import dataclass

import numpy as np

from snapshots_and_traces.traces import intervals
from snapshots_and_traces.traces.trace import LOADER, Kind, Trace


@dataclass(frozen=True)
class Total:
    """How often something of this name ran, and for how many seconds in all."""

    name: str
    count: int
    seconds: float


def busy(trace: Trace, device: int, window: tuple[float, float]) -> float:
    """Seconds of a window in which a kernel ran on a device, on any stream; copies don't count.

    It says nothing of how much of the device a kernel uses.
    """
    ran = trace.moments(trace.on(device, Kind.KERNEL))
    return intervals.length(intervals.within(ran, *window))


def communication(trace: Trace, device: int, window: tuple[float, float]) -> tuple[float, float]:
    """Seconds in which kernels of NCCL or RCCL ran in a window, and in which others ran beside.

    Source of the method: HolisticTraceAnalysis, "Communication Computation Overlap".
    """
    kernels = trace.on(device, Kind.KERNEL)
    sent = intervals.within(trace.moments(kernels & trace.messages), *window)
    computed = trace.moments(kernels & ~trace.messages)
    return intervals.length(sent), float(intervals.covered(computed, sent).sum())


def host_breakdown(trace: Trace) -> dict[str, float]:
    """Seconds from the first operator's begin to the last one's end, on any thread, each once.

    - data: a DataLoader's `next` ran, whatever it called.
    - operators: else an operator ran, on any thread.
    - python: neither did.
    """
    start, end = host_window(trace)
    loading = intervals.within(trace.moments(trace.named(LOADER)), start, end)
    data, python = intervals.length(loading), intervals.length(host_gaps(trace))
    return {"data": data, "operators": end - start - data - python, "python": python}


def host_window(trace: Trace) -> tuple[float, float]:
    """From the first operator's begin to the last one's end, in seconds."""
    ran = trace.kind == Kind.OPERATOR
    return float(trace.start[ran].min()), float(trace.end[ran].max())


def host_gaps(trace: Trace) -> np.ndarray:
    """When neither an operator nor a DataLoader ran on any thread: rows of (begin, end)."""
    ran = (trace.kind == Kind.OPERATOR) | trace.named(LOADER)
    return intervals.gaps(trace.moments(ran), *host_window(trace))


def launch_queue(trace: Trace, device: int) -> tuple[np.ndarray, np.ndarray]:
    """Kernels and copies launched and not yet begun: times in seconds, and how many from then on.

    One more when its launch is called, one less when it begins. Without a known launch it counts
    nowhere. If the queue is empty when what runs ends, the device waits for the host.
    """
    waiting = trace.on(device, Kind.KERNEL, Kind.COPY) & (trace.launch >= 0)
    called, begun = trace.start[trace.launch[waiting]], trace.start[waiting]
    times = np.concatenate([called, np.maximum(called, begun)])
    order = np.argsort(times, kind="stable")
    changes = np.repeat([1, -1], waiting.sum())
    return times[order], np.cumsum(changes[order])


def mean_queue(trace: Trace, device: int, window: tuple[float, float]) -> float:
    """The queue's length, averaged over the time of a window."""
    times, lengths = launch_queue(trace, device)
    edges = np.clip(np.append(times, window[1]), *window)
    return float((np.diff(edges) * lengths).sum() / (window[1] - window[0] or 1.0))


def top_kernels(trace: Trace, device: int) -> list[Total]:
    """A device's kernels by name, the one with the most seconds first; those beside others too."""
    which = trace.on(device, Kind.KERNEL)
    return _totals(trace, which, trace.seconds[which])


def top_operators(trace: Trace) -> list[Total]:
    """The host's operators by name, by their own seconds: without those of operators inside."""
    which = trace.kind == Kind.OPERATOR
    return _totals(trace, which, _own_seconds(trace, which))


def _totals(trace: Trace, which: np.ndarray, seconds: np.ndarray) -> list[Total]:
    names, place, counts = np.unique(trace.name[which], return_inverse=True, return_counts=True)
    sums = np.bincount(place, seconds, len(names))
    return [
        Total(trace.names[names[i]], int(counts[i]), float(sums[i]))
        for i in np.argsort(-sums, kind="stable")
    ]


def _own_seconds(trace: Trace, which: np.ndarray) -> np.ndarray:
    """Each event's seconds without those shared with events that began directly inside it."""
    thread, start, end = trace.thread[which], trace.start[which], trace.end[which]
    own = trace.seconds[which].copy()
    around: list[int] = []
    last = -1
    for i in np.lexsort((-end, start, thread)).tolist():
        if thread[i] != last:
            around, last = [], thread[i]
        while around and start[i] >= end[around[-1]]:
            around.pop()
        if around:
            own[around[-1]] -= min(end[i], end[around[-1]]) - start[i]
        around.append(i)
    return np.maximum(own, 0)
