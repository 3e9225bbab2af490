"""Sums over the columns of a trace, each with its definition: where the time went."""

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


def busiest(trace: Trace) -> int:
    """The GPU whose kernels ran for most seconds; -1 for a trace without."""
    return max(trace.devices, key=lambda gpu: busy(trace, gpu, trace.window(gpu)), default=-1)


def communication(trace: Trace, device: int, window: tuple[float, float]) -> tuple[float, float]:
    """Seconds of a window in which GPUs sent to each other, and in which other kernels ran beside.

    Source of the method: HolisticTraceAnalysis, "Communication Computation Overlap".
    """
    kernels = trace.on(device, Kind.KERNEL)
    sending = trace.on(device, Kind.KERNEL, Kind.COPY) & trace.messages
    sent = intervals.within(trace.moments(sending), *window)
    computed = trace.moments(kernels & ~trace.messages)
    return intervals.length(sent), float(intervals.covered(computed, sent).sum())


def host_breakdown(trace: Trace) -> dict[str, float]:
    """Seconds of the steps on the host, or of the whole capture, each once.

    - data: the thread of the steps was in a DataLoader's `next`, whatever it called.
    - operators: else an operator ran on that thread or on one of autograd's.
    - python: neither did.
    """
    start, end = trace.window(-1)
    loading = intervals.within(_loading(trace), start, end)
    data, python = intervals.length(loading), intervals.length(host_gaps(trace))
    return {"data": data, "operators": end - start - data - python, "python": python}


def host_gaps(trace: Trace) -> np.ndarray:
    """When these threads ran neither an operator nor a DataLoader: rows of (begin, end)."""
    asked = trace.host.asked(trace.host.main())
    ran = (trace.kind == Kind.OPERATOR) & np.isin(trace.thread, asked)
    both = np.concatenate([trace.moments(ran), _loading(trace)])
    return intervals.gaps(intervals.union(both[:, 0], both[:, 1]), *trace.window(-1))


def _loading(trace: Trace) -> np.ndarray:
    return trace.moments(trace.named(LOADER) & (trace.thread == trace.host.main()))


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


def queue_in(trace: Trace, device: int, window: tuple[float, float]) -> tuple[float, float]:
    """The queue's mean length over the time of a window, and the share of it with an empty one."""
    times, lengths = launch_queue(trace, device)
    edges = np.clip(np.concatenate([[window[0]], times, [window[1]]]), *window)
    took, whole = np.diff(edges), window[1] - window[0] or 1.0
    lengths = np.append(0, lengths)
    return float((took * lengths).sum() / whole), float(took[lengths == 0].sum() / whole)


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
    """Each operator's seconds without those shared with operators that began directly inside."""
    around = trace.host.parent.copy()
    inside = np.flatnonzero(which)
    while (skipped := inside[(around[inside] >= 0) & ~which[around[inside]]]).size:
        around[skipped] = around[around[skipped]]
    own, inside = trace.seconds.copy(), inside[around[inside] >= 0]
    shared = np.minimum(trace.end[inside], trace.end[around[inside]]) - trace.start[inside]
    np.subtract.at(own, around[inside], shared)
    return np.maximum(own[which], 0)
