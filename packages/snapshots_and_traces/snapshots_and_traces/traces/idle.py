"""Why a device computed nothing: each moment of a window, by what the device waited for."""

import re
from collections import deque
from dataclasses import dataclass

import numpy as np

from snapshots_and_traces.traces import intervals
from snapshots_and_traces.traces.trace import (
    ALLOCATING,
    BLOCKING,
    LOADER,
    PAGEABLE,
    RANKS,
    Kind,
    Trace,
)

LONG = 1e-4  # seconds: Python between two operators takes less, so does a launch's way to a device
NO_LAUNCH = 2e-4  # seconds: no call that only launches takes as long on a device that is free
QUEUE = 1024  # launches: further ahead of a device no host gets
GRAPH = re.compile(r"(cuda|hip|cu)GraphLaunch")  # may take as long as it has nodes
WAITS = (
    "data", "ranks", "allocating", "synchronising", "loading", "python", "launching", "other"
)  # fmt: skip


@dataclass(frozen=True)
class Idle:
    """Times without a kernel or a copy on a device, in order.

    `spans` are rows of (begin, end) in seconds; `shares` has the seconds of each by its causes, in
    columns as WAITS, and `why` the largest; `ended_by` the places of the events that began when an
    idle time ended, or next, -1 where none did; `waited` of the call that waited and was charged
    most of it, or -1; `charged` the calls that waited, by their places,
    with the seconds of idle time that each cost; `does` when the threads asked did what, by the
    thread that launched; `thread` is that of the steps.
    """

    spans: np.ndarray
    shares: np.ndarray
    ended_by: np.ndarray
    waited: np.ndarray
    charged: dict[int, float]
    does: dict[int, dict[str, np.ndarray]]
    thread: int

    @property
    def seconds(self) -> np.ndarray:
        """The seconds of each."""
        return np.asarray(self.spans[:, 1] - self.spans[:, 0])

    @property
    def why(self) -> np.ndarray:
        """For each, the place of its largest cause in WAITS."""
        return np.asarray(self.shares.argmax(axis=1))


def breakdown(
    trace: Trace, device: int, window: tuple[float, float], idle: Idle | None = None
) -> dict[str, float]:
    """A window's seconds, each once: computing, or what the device did or waited for instead.

    - computing: a kernel that isn't communication ran, whatever ran beside it.
    - communication: only kernels or copies between GPUs ran.
    - copying: only other copies and memsets ran.

    The rest is idle. What ended it was launched by a call on the host. If that call had returned
    before the device fell idle, the launch was in time: `other`. Else the host was late, and the
    time is divided by what the thread that launched, and the thread of the steps, did meanwhile:

    - data: it was in a DataLoader's `next`.
    - ranks: it waited for other ranks (gloo, MPI).
    - allocating: it took memory from the driver or gave it back (cudaMalloc, cudaFree).
    - loading: it was in one call of the driver far longer than a launch: a kernel's first use.
    - synchronising: it was in a call that returns when the device is done; and what such a call
      cost later. A wait holds the host up for w seconds: without it each later launch would have
      come up to w seconds earlier. So the next idle times, where the host was only late (the two
      below), are charged to it, up to w seconds in all.
    - python: it was in no operator and no call for at least 100 µs.
    - launching: the rest. The host launches more slowly than the device computes.

    Other has what no host explains: the device waited for another stream, went from kernel to
    kernel (1–2 µs each), or the file doesn't have the launch.

    `idle` are the idle times of the same window, where they are known already.
    Source of "late": HolisticTraceAnalysis, "Idle Time Breakdown", which asks it for each stream.
    """
    kernels = trace.on(device, Kind.KERNEL)
    messages = trace.on(device, Kind.KERNEL, Kind.COPY) & trace.messages
    computing = intervals.within(trace.moments(kernels & ~trace.messages), *window)
    running = intervals.within(trace.moments(kernels | messages), *window)
    using = intervals.within(trace.moments(trace.on(device, Kind.KERNEL, Kind.COPY)), *window)
    found = {
        "computing": intervals.length(computing),
        "communication": intervals.length(running) - intervals.length(computing),
        "copying": intervals.length(using) - intervals.length(running),
    }
    idle = idle or idle_times(trace, device, window)
    return found | dict(zip(WAITS, idle.shares.sum(axis=0).tolist(), strict=True))


def idle_times(trace: Trace, device: int, window: tuple[float, float]) -> Idle:
    """When nothing ran on a device in a window, each time with its causes as `breakdown` says."""
    using = trace.moments(trace.on(device, Kind.KERNEL, Kind.COPY))
    spans = intervals.gaps(using, *window)
    ended_by = _begun_at(trace, device, spans[:, 1])
    shares = np.zeros((len(spans), len(WAITS)))
    launch = np.where(ended_by >= 0, trace.launch[ended_by], -1)
    steps = trace.host.main(trace.host.launcher(device))  # is asked for what nothing ended
    by = np.where(launch >= 0, trace.thread[launch], steps)
    launched = np.where(launch >= 0, trace.end[launch], np.where(ended_by < 0, np.inf, -np.inf))
    late = launched > spans[:, 0]
    does = {}
    for thread in np.unique(by[late]).tolist():
        mine = late & (by == thread)
        until = np.clip(launched[mine], spans[mine, 0], spans[mine, 1])
        does[thread] = _doing(trace, trace.host.asked(thread), window)
        shares[mine] = _by_host(does[thread], spans[mine], until)
    shares[~late, -1] = (spans[:, 1] - spans[:, 0])[~late]
    waited, charged = _charge(trace, using, spans, by, shares)
    return Idle(spans, shares, ended_by, waited, charged, does, steps)


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


def _doing(trace: Trace, threads: list[int], window: tuple[float, float]) -> dict[str, np.ndarray]:
    """When, in a window, some threads of the host did what WAITS names."""
    mine = np.isin(trace.thread, threads) & (trace.device < 0)
    calls, blocks = mine & (trace.kind == Kind.RUNTIME), blocking(trace)
    took = trace.named(ALLOCATING) & calls
    ranks = mine & trace.named(RANKS) & (trace.seconds >= LONG)
    if ranks.any():  # that a collective is only launched in NCCL's, the GPU waits
        sent = np.sort(trace.start[trace.launch[trace.messages & (trace.launch >= 0)]])
        first, last = (np.searchsorted(sent, at[ranks]) for at in (trace.start, trace.end))
        ranks[ranks] = first == last
    long = calls & ~took & ~blocks & ~trace.named(GRAPH) & (trace.seconds >= NO_LAUNCH)
    loader = mine & trace.named(LOADER)
    named = trace.moments(calls | loader | ranks | (mine & (trace.kind == Kind.OPERATOR)))
    python = intervals.gaps(named, *window)
    return {
        "data": trace.moments(loader),
        "ranks": trace.moments(ranks),
        "allocating": trace.moments(took),
        "synchronising": trace.moments(calls & blocks & ~took),
        "loading": trace.moments(long),
        "python": python[python[:, 1] - python[:, 0] >= LONG],
    }


def _by_host(does: dict[str, np.ndarray], spans: np.ndarray, until: np.ndarray) -> np.ndarray:
    """The seconds of idle times by WAITS: what the threads did until the launch had returned."""
    host = np.column_stack([spans[:, 0], until])
    found, before = np.zeros((len(spans), len(WAITS))), np.zeros(len(spans))
    seen = np.empty((0, 2))
    for place, what in enumerate(WAITS[:-2]):  # what comes first counts where two hold
        both = np.concatenate([seen, does[what]])
        seen = intervals.union(both[:, 0], both[:, 1])
        so_far = intervals.covered(seen, host)
        found[:, place] = so_far - before
        before = so_far
    found[:, -1] = np.maximum(spans[:, 1] - until - LONG, 0)  # from the launch to the kernel
    found[:, -2] = np.maximum(spans[:, 1] - spans[:, 0] - found.sum(axis=1), 0)
    return found


def _charge(
    trace: Trace, using: np.ndarray, spans: np.ndarray, by: np.ndarray, shares: np.ndarray
) -> tuple[np.ndarray, dict[int, float]]:
    """Moves idle time of a late host, in `shares`, to the waits that made it late, the oldest
    first. A wait counts for QUEUE launches. Returns the call charged most of each idle time, or
    -1, and how much each call was charged.
    """
    late = [WAITS.index("python"), WAITS.index("launching")]
    calls = np.flatnonzero(blocking(trace))
    calls = calls[np.argsort(trace.start[calls], kind="stable")]
    held = dict(zip(calls.tolist(), _held(using, trace, calls).tolist(), strict=True))
    allocates = trace.named(ALLOCATING)
    launches = np.sort(trace.start[trace.launch[trace.launch >= 0]])
    reach = np.searchsorted(launches, trace.end[calls]) + QUEUE
    until = dict(zip(calls.tolist(), reach.tolist(), strict=True))
    now = np.searchsorted(launches, spans[:, 0])
    charged: dict[int, float] = {}
    blamed = np.full(len(spans), -1)
    for thread in np.unique(by).tolist():
        to_come = deque(calls[np.isin(trace.thread[calls], trace.host.asked(thread))].tolist())
        open_now: deque[int] = deque()
        ended = (by == thread) & (shares[:, late].sum(axis=1) > 0)
        for gap in np.flatnonzero(ended).tolist():
            while to_come and trace.start[to_come[0]] <= spans[gap, 0]:
                open_now.append(to_come.popleft())
            while open_now and (until[open_now[0]] < now[gap] or held[open_now[0]] <= 0):
                open_now.popleft()
            most = 0.0
            for column in late:
                for call in open_now:
                    took = min(held[call], float(shares[gap, column]))
                    held[call] -= took
                    shares[gap, column] -= took
                    to = "allocating" if allocates[call] else "synchronising"
                    shares[gap, WAITS.index(to)] += took
                    charged[call] = charged.get(call, 0.0) + took
                    if took > most:
                        blamed[gap], most = call, took
                    if shares[gap, column] <= 0:
                        break
    return blamed, {call: took for call, took in charged.items() if took > 0}


def _held(using: np.ndarray, trace: Trace, calls: np.ndarray) -> np.ndarray:
    """For how long each call waited: from its begin until the device last worked in it."""
    start, end = trace.start[calls], trace.end[calls]
    if not len(using):
        return np.zeros(len(calls))
    last = np.searchsorted(using[:, 0], end, side="left") - 1
    done = np.where(last >= 0, using[last, 1], -np.inf)
    return np.asarray(np.maximum(np.minimum(done, end) - start, 0))


def _begun_at(trace: Trace, device: int, ends: np.ndarray) -> np.ndarray:
    """The event that begins on a device at each of these times, or next; else -1."""
    using = np.flatnonzero(trace.on(device, Kind.KERNEL, Kind.COPY))
    using = using[np.argsort(trace.start[using], kind="stable")]
    return np.append(using, -1)[np.searchsorted(trace.start[using], ends - 1e-12)]
