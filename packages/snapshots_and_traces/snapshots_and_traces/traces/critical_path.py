"""The critical path of a trace: what each moment of a window waited for, from its end backwards.

The path is at one place at a time: on a stream of the device, or on a thread of the host. It goes
backwards in time along a lane, and changes lanes where something else decided when the work began:

- A kernel or copy whose launch came later than its stream was free: to the call that launched it.
- One that began over JUST after both, as work of another stream ended: to that stream. A trace has
  no events of streams waiting for each other, so this dependency is guessed, and counted as such.
- A call that returns when the device is done, or copies to or from pageable memory: to the device's
  work that ended last before it returned. Inside a DataLoader's `next` no call is followed.
- Autograd's thread to the process's main thread, and back, where one ran while the other paused.

Source of the method: HolisticTraceAnalysis, "Critical Path Analysis". There a graph of all events
is built and its longest path found; here each event has one cause, so only the path is walked.
"""

from bisect import bisect_left
from dataclasses import dataclass

import numpy as np

from snapshots_and_traces.traces.idle import blocking
from snapshots_and_traces.traces.trace import ALLOCATING as TAKES_MEMORY
from snapshots_and_traces.traces.trace import AUTOGRAD, LOADER, STEP, Kind, Trace
from snapshots_and_traces.units import seconds_text

JUST = 20e-6  # seconds: a launch, or a change of streams, takes no longer than that
JITTER = 5e-6  # seconds between the clocks of host and device
CATEGORIES = {
    "computing": "computing",
    "communication": "communication",
    "copying": "copies and memsets",
    "starting": f"starting what was ready, at most {seconds_text(JUST)} each",
    "operators": "the host in operators and calls",
    "python": "the host outside operators",
    "data": "the host in a DataLoader",
    "allocating": "the host allocating",
    "waiting": "waiting for what isn't in the file",
}
COMPUTING, COMMUNICATION, COPYING, STARTING, OPERATORS, PYTHON, DATA, ALLOCATING, WAITING = range(9)


@dataclass(frozen=True)
class Path:
    """The segments of a critical path in order of time, each beginning where the last one ended.

    `begin` and `end` are in seconds, `category` a place in CATEGORIES, `event` the place of the
    event, of the host the outermost one, or -1; before an event that is starting, that event.
    `thread` is the place of the stream or thread. `changes` counts how often the path changed
    between these, `guessed` how often by a guess.
    """

    changes: int
    guessed: int
    begin: np.ndarray
    end: np.ndarray
    category: np.ndarray
    event: np.ndarray
    thread: np.ndarray

    def seconds(self) -> dict[str, float]:
        """Seconds on the path by category; they sum to the window."""
        sums = np.bincount(self.category, self.end - self.begin, len(CATEGORIES))
        return dict(zip(CATEGORIES, sums.tolist(), strict=True))


def critical_path(trace: Trace, device: int, window: tuple[float, float] | None = None) -> Path:
    """The critical path of a window, on a device and the host; of the host alone where that is -1.

    The default is from the first step's begin to the last one's end, else all of the trace. At the
    window's end the path is on the device if that is busy, else on the host's main thread.
    """
    begin, end = window or trace.window(device)
    lanes = _Lanes(trace, device)
    spans, guessed = [], 0
    lane, time = lanes.at_end(end), end
    while time > begin:
        leave, to, guess = lanes[lane].last_exit(time)
        leave = max(leave, begin)
        spans.append((lane, leave, time))
        guessed += guess and leave > begin
        lane, time = to, leave
    own, rows = np.array([lane for lane, _, _ in spans]), np.array([span for _, *span in spans])
    pieces = [lanes[one].within(rows[own == one], one) for one in np.unique(own).tolist()]
    columns = [np.concatenate(c) for c in zip(*pieces, strict=True)] or [np.empty(0, int)] * 5
    order = np.argsort(columns[0], kind="stable")
    return Path(max(len(spans) - 1, 0), guessed, *(column[order] for column in columns))


def path_in_words(trace: Trace, device: int, window: tuple[float, float]) -> str:
    """A sentence: what the critical path of a window is made of, the largest first."""
    path = critical_path(trace, device, window)
    seconds = path.seconds()
    whole = sum(seconds.values()) or 1.0
    most = sorted(seconds.items(), key=lambda one: -one[1])
    parts = [f"{CATEGORIES[name]} {took / whole:.0%}" for name, took in most if took > whole / 200]
    guessed = f" ({path.guessed:,} of {path.changes:,} changes guessed)" if path.guessed else ""
    return f"Critical path: {'; '.join(parts)}{guessed}."


@dataclass
class _Lane:
    """A stream or thread, from -inf to inf: what it does from each of `begins` on, and its exits.

    Backwards in time, the path leaves it at `leave`, in order, for the lane `to`.
    """

    begins: np.ndarray
    category: np.ndarray
    event: np.ndarray
    leave: list[float]
    to: list[int]
    guessed: list[bool]

    def last_exit(self, time: float) -> tuple[float, int, bool]:
        """When the path, here at a time, came here, from where, and whether that is guessed."""
        i = bisect_left(self.leave, time) - 1
        return (self.leave[i], self.to[i], self.guessed[i]) if i >= 0 else (-np.inf, -1, False)

    def within(self, spans: np.ndarray, number: int) -> tuple[np.ndarray, ...]:
        """The columns of a Path for these rows of (begin, end); in no order."""
        first = np.searchsorted(self.begins, spans[:, 0], side="right") - 1
        many = np.searchsorted(self.begins, spans[:, 1], side="left") - first
        place = np.arange(many.sum()) + np.repeat(first - np.cumsum(many) + many, many)
        begin = np.maximum(self.begins[place], np.repeat(spans[:, 0], many))
        ends = np.append(self.begins[1:], np.inf)
        end = np.minimum(ends[place], np.repeat(spans[:, 1], many))
        columns = (begin, end, self.category[place], self.event[place], np.full(len(place), number))
        return tuple(column[end > begin] for column in columns)


class _Lanes(dict[int, _Lane]):
    """The lanes by the place of their thread; each is made when the path first comes to it."""

    def __init__(self, trace: Trace, device: int) -> None:
        self.trace = trace
        used = np.flatnonzero(trace.on(device, Kind.KERNEL, Kind.COPY) & (device >= 0))
        self.used = used[np.argsort(trace.end[used], kind="stable")]
        self.streams = {*np.unique(trace.thread[used]).tolist()}
        lasting = self.used[trace.seconds[self.used] > 0]
        self.by_end, self.ends = np.append(-1, lasting), np.append(-np.inf, trace.end[lasting])
        called = used[trace.launch[used] >= 0]
        delays = trace.start[called] - trace.start[trace.launch[called]]
        self.fastest = max(float(delays.min()), 0.0) if len(called) else 0.0
        copies = called[trace.kind[called] == Kind.COPY]
        self.copied = np.full(len(trace.start), -1)
        self.copied[trace.launch[copies]] = copies
        self.loading = (trace.device < 0) & trace.named(LOADER)
        self.allocating = trace.named(TAKES_MEMORY) & (trace.kind == Kind.RUNTIME)
        self.blocking = blocking(trace)
        acts = np.isin(trace.kind, (Kind.OPERATOR, Kind.RUNTIME)) | self.loading
        self.acts = np.flatnonzero(acts & (trace.device < 0))
        self.autograd = {*trace.thread[self.acts[trace.named(AUTOGRAD)[self.acts]]].tolist()}
        self.mains = self._mains()
        self.autograd -= {*self.mains.values()}

    def _mains(self) -> dict[str, int]:
        """The main thread of each process: with most steps, else with most events."""
        trace, found = self.trace, dict[str, tuple[int, bool, int, int]]()
        steps = trace.named(STEP) & (trace.device < 0)
        step_counts = np.bincount(trace.thread[steps], minlength=len(trace.threads))
        counts = np.bincount(trace.thread[self.acts], minlength=len(trace.threads))
        for thread in np.flatnonzero(counts).tolist():
            process, own = trace.threads[thread][0], thread not in self.autograd
            size = (int(step_counts[thread]), own, int(counts[thread]), thread)
            found[process] = max(found.get(process, size), size)
        return {process: thread for process, (*_, thread) in found.items()}

    def __missing__(self, thread: int) -> _Lane:
        self[thread] = self._stream(thread) if thread in self.streams else self._host(thread)
        return self[thread]

    def at_end(self, time: float) -> int:
        """The lane on which the path ends at a time."""
        trace, used = self.trace, self.used
        running = used[(trace.start[used] < time) & (trace.end[used] >= time)]
        if len(running) or (len(used) and not self.mains):
            return int(trace.thread[running[-1] if len(running) else used[-1]])
        launches = trace.launch[used[trace.launch[used] >= 0]]
        threads = trace.thread[launches if len(launches) else self.acts]
        process = trace.threads[int(np.bincount(threads).argmax())][0] if len(threads) else ""
        return self.mains.get(process, 0)

    def _stream(self, thread: int) -> _Lane:
        trace = self.trace
        places = self.used[trace.thread[self.used] == thread]
        places = places[np.lexsort((trace.end[places], trace.start[places]))]
        start, launch = trace.start[places], trace.launch[places]
        reached = np.maximum.accumulate(trace.end[places])
        free = np.append(-np.inf, reached[:-1])
        ready = np.where(launch >= 0, trace.start[launch] + self.fastest, -np.inf)
        since = np.maximum(free, ready)
        before = np.searchsorted(self.ends, start, side="right") - 1
        ended = self.ends[before]
        guessed = (start - since > JUST) & (ended > since) & (start - ended <= JUST)
        late = ~guessed & (ready > free) & (start >= free)
        leave = np.select([guessed, late], [ended, trace.end[launch]], free)
        leave = np.minimum(np.maximum(leave, free), start)
        work = np.where(trace.kind[places] == Kind.COPY, COPYING, COMPUTING)
        work[trace.messages[places]] = COMMUNICATION
        pause = np.where(start - leave <= JUST, STARTING, WAITING)
        which = guessed | late
        return _Lane(
            np.append(np.column_stack([free, np.maximum(start, free)]), reached[-1]),
            np.append(np.column_stack([pause, work]), WAITING),
            np.append(np.column_stack([places, places]), -1),
            leave[which].tolist(),
            trace.thread[np.where(guessed, self.by_end[before], launch)][which].tolist(),
            guessed[which].tolist(),
        )

    def _host(self, thread: int) -> _Lane:
        trace, mine = self.trace, self.acts[self.trace.thread[self.acts] == thread]
        calls = mine[self.blocking[mine]]
        start, end, copy = trace.start[calls], trace.end[calls], self.copied[calls]
        last = self.by_end[np.searchsorted(self.ends, end + JITTER, side="right") - 1]
        work = np.where(copy >= 0, copy, last)
        ended = np.where(work >= 0, trace.end[work], -np.inf)
        waited = (ended > start) & (ended <= end + JITTER)
        leave = np.minimum(ended, end)
        since_of = trace.start.copy()
        since_of[calls] = since = np.where(waited, leave, start)
        unknown = (end - since > JUST) & (waited | (copy < 0))
        layers = {
            OPERATORS: _outermost(trace.start, trace.end, mine),
            WAITING: _outermost(since_of, trace.end, calls[unknown]),
            ALLOCATING: _outermost(trace.start, trace.end, mine[self.allocating[mine]]),
            DATA: _outermost(trace.start, trace.end, mine[self.loading[mine]]),
        }
        edges = [edge for begins, ends, _ in layers.values() for edge in (begins, ends)]
        begins = np.unique(np.concatenate([[-np.inf], *edges]))
        category, event = np.full(len(begins), PYTHON), np.full(len(begins), -1)
        for number, (first, to, places) in layers.items():
            at = np.searchsorted(first, begins, side="right") - 1
            inside = begins < np.append(to, -np.inf)[at]
            category[inside], event[inside] = number, places[at[inside]]
        waited &= category[np.searchsorted(begins, leave) - 1] != DATA
        times, threads = self._paused(thread, mine, layers[OPERATORS])
        leave = np.append(leave[waited], times)
        to = np.append(trace.thread[work[waited]], threads)
        order = np.argsort(leave, kind="stable")
        exits = leave[order].tolist(), to[order].tolist(), [False] * len(order)
        return _Lane(begins, category, event, *exits)

    def _paused(
        self, thread: int, mine: np.ndarray, outermost: tuple[np.ndarray, ...]
    ) -> tuple[np.ndarray, np.ndarray]:
        """When this thread waited for autograd's, or that for it: until when, and for which."""
        trace, process = self.trace, self.trace.threads[thread][0]
        main = self.mains.get(process, -1)
        if thread == main:  # it may wait inside an event
            others = [one for one in self.autograd if trace.threads[one][0] == process]
            edges = np.unique(np.append(trace.start[mine], trace.end[mine]))
            free, begins = np.append(-np.inf, edges), np.append(edges, np.inf)
        else:
            others = [main] if thread in self.autograd and main >= 0 else []
            free, begins = np.append(-np.inf, outermost[1]), np.append(outermost[0], np.inf)
        acts = self.acts[np.isin(trace.thread[self.acts], others)]
        acts = acts[np.argsort(trace.end[acts], kind="stable")]
        times = np.append(-np.inf, trace.end[acts])
        at = np.searchsorted(times, begins, side="right") - 1
        found = times[at] > free
        return times[at[found]], trace.thread[acts[at[found] - 1]]


def _outermost(start: np.ndarray, end: np.ndarray, places: np.ndarray) -> tuple[np.ndarray, ...]:
    """Begin, end and place of the outermost of these events, in order; none overlaps another."""
    places = places[np.lexsort((-end[places], start[places]))]
    start, end = start[places], end[places]
    before = np.append(-np.inf, np.maximum.accumulate(end))[: len(end)]
    some = end > np.maximum(start, before)
    return np.maximum(start, before)[some], end[some], places[some]
