"""Why a device computed nothing: each moment of a window, by what it waited for."""

from dataclasses import dataclass

import numpy as np

from snapshots_and_traces.traces import intervals
from snapshots_and_traces.traces.trace import BLOCKING, LOADER, PAGEABLE, Kind, Trace

JITTER = 5e-6  # seconds between the clocks of host and device
WAITS = ("data", "synchronising", "launching", "other")


@dataclass(frozen=True)
class Idle:
    """Times without a kernel or a copy on a device, in order.

    `spans` are rows of (begin, end) in seconds, `why` places in WAITS, `ended_by` the places of
    the events that began when an idle time ended, or next; -1 where none did.
    """

    spans: np.ndarray
    why: np.ndarray
    ended_by: np.ndarray

    @property
    def seconds(self) -> np.ndarray:
        """How long each was."""
        return np.asarray(self.spans[:, 1] - self.spans[:, 0])


def breakdown(trace: Trace, device: int, window: tuple[float, float]) -> dict[str, float]:
    """A window's seconds, each once: computing, or what the device did or waited for instead.

    - computing: a kernel other than NCCL's ran, whatever ran beside it.
    - communication: only kernels of NCCL ran.
    - copying: only copies and memsets ran.

    The rest is idle. What ended it was launched by a call on the host. Did that call end only when
    the device was idle, then the host was late, and the idle time is by its reason:

    - data: a DataLoader's `next` covered at least half of the idle time.
    - synchronising: a call that returns when the device is done, or a copy to or from pageable
      memory, still waited as the device fell idle, so that nothing could be launched ahead
      (a GPU's clock is believed to 5 µs).
    - launching: neither; the host was slower than the device (launch-bound).
    - other: the launch was in time or isn't known. The device waited for another stream, or went
      from kernel to kernel (1–2 µs each).

    Source: HolisticTraceAnalysis, "Idle Time Breakdown", asks whether the launch began after the
    kernel before it ended, for each stream; here for the whole device, and whether it ended.
    """
    kernels = trace.on(device, Kind.KERNEL)
    computing = intervals.within(trace.moments(kernels & ~trace.messages), *window)
    running = intervals.within(trace.moments(kernels), *window)
    using = intervals.within(trace.moments(trace.on(device, Kind.KERNEL, Kind.COPY)), *window)
    found = {
        "computing": intervals.length(computing),
        "communication": intervals.length(running) - intervals.length(computing),
        "copying": intervals.length(using) - intervals.length(running),
    }
    idle = idle_times(trace, device, window)
    return found | {wait: float(idle.seconds[idle.why == n].sum()) for n, wait in enumerate(WAITS)}


def idle_times(trace: Trace, device: int, window: tuple[float, float]) -> Idle:
    """When nothing ran on a device in a window, each time with its cause as `breakdown` says."""
    using = trace.moments(trace.on(device, Kind.KERNEL, Kind.COPY))
    spans = intervals.gaps(using, *window)
    ended_by = _begun_at(trace, device, spans[:, 1])
    return Idle(spans, _reasons(trace, spans, ended_by), ended_by)


def loads(trace: Trace) -> np.ndarray:
    """When the host was in a DataLoader's `next`."""
    return trace.moments((trace.device < 0) & trace.named(LOADER))


def blocking(trace: Trace) -> np.ndarray:
    """Whether each event is a call that returns when a device is done with what came before.

    Those of BLOCKING, and those that copy to or from pageable memory.
    """
    found = trace.named(BLOCKING) & (trace.kind == Kind.RUNTIME)
    pageable = (trace.kind == Kind.COPY) & trace.named(PAGEABLE) & (trace.launch >= 0)
    found[trace.launch[pageable]] = True
    return found


def waits(trace: Trace) -> np.ndarray:
    """When the host was in a call that returns when the device is done."""
    return trace.moments(blocking(trace))


def _reasons(trace: Trace, spans: np.ndarray, ended_by: np.ndarray) -> np.ndarray:
    """For each idle time, which of WAITS."""
    waited = waits(trace)
    blocked = intervals.union(waited[:, 0], waited[:, 1] + JITTER)
    by_data = intervals.covered(loads(trace), spans) >= (spans[:, 1] - spans[:, 0]) / 2
    by_waiting = intervals.inside(blocked, spans[:, 0])
    reasons = np.select([by_data, by_waiting], [0, 1], 2)
    launches = np.where(ended_by >= 0, trace.launch[ended_by], -1)
    launched_at = np.where(launches >= 0, trace.end[launches], -np.inf)
    return np.where(launched_at > spans[:, 0], reasons, 3)


def _begun_at(trace: Trace, device: int, ends: np.ndarray) -> np.ndarray:
    """What begins on a device at each of these times, or next; else -1."""
    using = np.flatnonzero(trace.on(device, Kind.KERNEL, Kind.COPY))
    using = using[np.argsort(trace.start[using], kind="stable")]
    return np.append(using, -1)[np.searchsorted(trace.start[using], ends - 1e-12)]
