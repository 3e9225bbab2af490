"""Streams in virtual time: what a schedule of copies and computations takes, exactly.

A `VirtualStream` takes work as a CUDA stream does: launches return at once, work on one stream
runs in order, `record_event` and `wait_event` order work across streams. No clock is involved, so
a schedule has one length and its races show every time.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from course_utils.figures.timeline import Span


@dataclass(frozen=True)
class Event:
    """The virtual time, in seconds, at which the work recorded before it is done."""

    seconds: float


@dataclass(frozen=True)
class Access:
    """Work that read or wrote a buffer from `start` to `end`, for chunk number `chunk`."""

    stream: str
    chunk: int
    buffer: int
    writes: bool
    start: float
    end: float


@dataclass
class Host:
    """The thread that launches; `waits` counts how often it stood still."""

    seconds: float = 0.0
    waits: int = 0
    accesses: list[Access] = field(default_factory=list)


class VirtualStream:
    """A queue of work on one engine, `seconds_each` a chunk; copies write buffers."""

    def __init__(self, name: str, host: Host, seconds_each: float, writes: bool) -> None:
        self.name, self.host, self.seconds_each, self.writes = name, host, seconds_each, writes
        self.free_at = 0.0

    def launch(self, chunk: int, buffer: int) -> None:
        """Queues the work on `chunk` in `buffer`; returns at once."""
        start = max(self.free_at, self.host.seconds)
        self.free_at = start + self.seconds_each
        access = Access(self.name, chunk, buffer, self.writes, start, self.free_at)
        self.host.accesses.append(access)

    def record_event(self) -> Event:
        """An event that happens when everything launched here so far is done."""
        return Event(self.free_at)

    def wait_event(self, event: Event) -> None:
        """Work launched here from now on starts after the event; the host goes on."""
        self.free_at = max(self.free_at, event.seconds)

    def synchronize(self) -> None:
        """The host stands still until everything launched here is done."""
        self.host.waits += 1
        self.host.seconds = max(self.host.seconds, self.free_at)


def race(accesses: Iterable[Access]) -> str | None:
    """The first two uses of one buffer that collide, in words; None where every use is safe.

    A reader must find its own chunk, whole, and keep it until it is done.
    """
    accesses = sorted(accesses, key=lambda access: access.start)
    for read in (a for a in accesses if not a.writes):
        writes = [w for w in accesses if w.writes and w.buffer == read.buffer]
        done = [w for w in writes if w.end <= read.start]
        if not done or done[-1].chunk != read.chunk:
            where = f"from buffer {read.buffer} before it is there"
            return f"{read.stream} reads chunk {read.chunk} {where}"
        if any(w.start < read.end and w.end > read.start for w in writes):
            return (
                f"buffer {read.buffer} is overwritten while {read.stream} reads chunk {read.chunk}"
            )
    return None


def spans(accesses: Iterable[Access]) -> list[Span]:
    """The accesses as spans for a timeline."""
    return [Span(a.stream, f"buffer {a.buffer}", a.start, a.end, str(a.chunk)) for a in accesses]


def queue_spans(
    launch: float, run: float, back: float, n: int, depth: int | None = None
) -> list[Span]:
    """Spans of a CPU that launches `n` pieces of work and a GPU that runs them; times in seconds.

    The CPU takes `launch` for each and stops while `depth` pieces wait or run; the GPU takes `run`
    for each; hearing that the last is done takes `back` more.
    """
    made: list[Span] = []
    cpu = gpu = 0.0
    ends: list[float] = []
    for i in range(n):
        if depth is not None and i >= depth and ends[i - depth] > cpu:
            made.append(Span("CPU", "wait", cpu, ends[i - depth]))
            cpu = ends[i - depth]
        made.append(Span("CPU", "launch", cpu, cpu + launch, str(i + 1)))
        cpu += launch
        start = max(cpu, gpu)
        made.append(Span("GPU", "run", start, start + run, str(i + 1)))
        gpu = start + run
        ends.append(gpu)
    if gpu > cpu:
        made.append(Span("CPU", "wait", cpu, gpu))
    made.append(Span("CPU", "return", gpu, gpu + back))
    return made
