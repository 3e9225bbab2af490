"""A recorded trace as something to run again: its start, its events, the allocator's settings."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from snapshots_and_traces.allocator.expandable import ExpandableAllocator
from snapshots_and_traces.allocator.rules import Block, Driver
from snapshots_and_traces.allocator.settings import Settings
from snapshots_and_traces.allocator.tuned import TunedAllocator
from snapshots_and_traces.snapshots.events import Event
from snapshots_and_traces.snapshots.rewind import Start, rewind
from snapshots_and_traces.snapshots.snapshot import Segment, Snapshot

TAKES = ("segment_alloc", "segment_map")
GIVES = ("segment_free", "segment_unmap")
DEFAULT = (0, 0)


@dataclass(frozen=True)
class RecordedTrace:
    """The events of a trace, what was held before the first, and the allocator's settings."""

    events: list[Event]
    start: Start
    settings: Settings
    title: str = ""


def recorded_trace(snapshot: Snapshot, device: int | None = None) -> RecordedTrace:
    """The trace of one device. Raises: ValueError where it isn't clear which is meant."""
    segments, start = snapshot.segments(device), rewind(snapshot, device)
    events = _with_pools(segments, snapshot.trace(device).events())
    settings = Settings.of_snapshot(snapshot.settings)
    held = any(s.is_expandable for s in (*segments, *start.segments))
    if held or any(e.action in ("segment_map", "segment_unmap") for e in events):
        settings = replace(settings, expandable_segments=True)
    return RecordedTrace(events, start, settings, snapshot.name)


def _with_pools(segments: Sequence[Segment], events: Iterable[Event]) -> list[Event]:
    """The events; where the file (before torch 2.13) says no pools, with their segments' pools."""
    found = [event for event in events if event.size or event.action != "alloc"]
    private = any(segment.pool != DEFAULT for segment in segments)
    if not private or any(event.pool != DEFAULT for event in found):
        return found
    starts = [segment.address for segment in segments]

    def marked(event: Event) -> Event:
        segment = segments[bisect_right(starts, event.addr) - 1]
        inside = segment.address <= event.addr < segment.end
        return event._replace(pool=segment.pool) if inside else event

    return [marked(event) for event in found]


def allocator_for(settings: Settings, driver: Driver) -> TunedAllocator:
    """An empty allocator of ours with these settings."""
    kind = ExpandableAllocator if settings.expandable_segments else TunedAllocator
    return kind(driver, settings)


class _RecordedDriver(Driver):
    """Puts a new segment, or address range, at the `recorded` address while there is one."""

    recorded: int | None = None

    def reserve(self, size: int) -> int:
        return super().reserve(size) if self.recorded is None else self.recorded


def is_repeated(snapshot: Snapshot) -> bool:
    """Whether our allocator, given what was asked, decides all as recorded, addresses included.

    It is given each request, each free, and when cached memory went back; each segment lies where
    it lay. Raises: ValueError where the trace begins in the middle: some requests are missing.
    """
    trace = recorded_trace(snapshot)
    if trace.start.partial:
        raise ValueError(f"{trace.title}: record from an empty allocator. {trace.start}")
    if trace.start.contradictions:
        return False
    driver = _RecordedDriver()
    allocator = allocator_for(trace.settings, driver)
    blocks: dict[int, Block] = {}
    for event in trace.events:
        if event.action in TAKES and driver.recorded is None:
            driver.recorded = event.addr
        elif event.action in GIVES:
            allocator.empty_cache(event.pool)
        elif event.action == "alloc":
            blocks[event.addr] = allocator.malloc(event.size, event.stream, event.pool)
            driver.recorded = None
            if blocks[event.addr].address != event.addr:
                return False
        elif event.action == "free_completed" and event.addr in blocks:
            allocator.free(blocks.pop(event.addr))
    wanted = [(e.action, e.addr, e.size) for e in trace.events if e.action in (*TAKES, *GIVES)]
    return driver.calls == wanted


def events(snapshot: Snapshot) -> list[tuple[str, int]]:
    """The actions of an allocator in order, with their bytes."""
    return [(event.action, event.size) for event in snapshot.trace().events()]


def blocks(snapshot: Snapshot) -> list[list[tuple[int, str]]]:
    """The memory held at the end: for each segment its blocks, in bytes, and their states.

    Segments are in order of their content, since addresses are the driver's choice.
    """
    return sorted([(b.size, b.state) for b in one.blocks] for one in snapshot.segments())
