"""A recorded trace as something to be replayed: its start, its events, its settings, its driver."""

from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from course_utils.memory.allocator.expandable import ExpandableAllocator
from course_utils.memory.allocator.rules import Driver
from course_utils.memory.allocator.settings import Settings
from course_utils.memory.allocator.tuned import TunedAllocator
from course_utils.memory.recorded_start import Call, Start, rewind, settle_sizes, with_pools

TAKES = ("segment_alloc", "segment_map")
GIVES = ("segment_free", "segment_unmap")
WITHOUT_SIZE = ("snapshot", "oom")
FAKE = 2**60  # where addresses begin that no driver gave


@dataclass(frozen=True)
class RecordedTrace:
    """A trace to be replayed: what was held at its start, its events, the allocator's settings."""

    calls: list[Call]
    start: Start
    settings: Settings
    title: str = ""


def recorded_trace(snapshot: Any, device: int | None = None) -> RecordedTrace:
    """The trace of one device of a `course_utils.memory.snapshots.snapshot.Snapshot`.

    Raises: ValueError where it isn't clear which device is meant.
    """
    return trace_from(
        snapshot.segments(device), snapshot.trace(device).events(), snapshot.settings, snapshot.name
    )


def trace_from(
    segments: Sequence[Any], events: Iterable[Any], settings: Any = None, title: str = ""
) -> RecordedTrace:
    """The same from segments, events and the dict `allocator_settings`."""
    every = with_pools(segments, events)
    calls = [call for call in every if call.size > 0 or call.action in WITHOUT_SIZE]
    found = Settings.of_snapshot(settings)
    takes = [call.action for call in calls if call.action in TAKES]
    if "segment_map" in takes or any(s.is_expandable for s in segments):
        found = replace(found, expandable_segments=True)
    start = rewind(segments, calls)
    start.odd += len(every) - len(calls)
    trace = RecordedTrace(calls, start, found, title)
    settle_sizes(allocator_for(trace), start, calls)
    return trace


class RecordedDriver(Driver):
    """Never refuses; answers a call that was recorded too with the address recorded for it."""

    def __init__(self) -> None:
        super().__init__()
        self.coming: list[Call] = []
        self.held: list[tuple[int, int]] = []
        self._next = FAKE

    def malloc(self, size: int, name: str = "segment_alloc", address: int | None = None) -> int:
        """As recorded, else at an address that nothing has."""
        if name == "segment_alloc":
            answers = [c.addr for c in self.coming if (c.action, c.size) == (name, size)]
            address = next((a for a in answers if self.is_clear(a, size)), self.reserve(size))
            self.hold(address, size)
        return super().malloc(size, name, address)

    def free(self, address: int, size: int, name: str = "segment_free") -> None:
        """Takes back what `malloc` gave."""
        super().free(address, size, name)
        if name == "segment_free":
            self.held.remove((address, address + size))

    def reserve(self, size: int) -> int:
        """The place of the first mapping that comes, else one that nothing has."""
        mapped = (c.addr for c in self.coming if c.action == "segment_map")
        return next(mapped, None) or super().reserve(size)

    def hold(self, address: int, size: int) -> None:
        """Notes that a segment lies here."""
        insort(self.held, (address, address + size))

    def is_clear(self, address: int, size: int) -> bool:
        """Whether no segment lies in a range: ours may keep one that was given back in truth."""
        i = bisect_left(self.held, (address + size,))
        return i == 0 or self.held[i - 1][1] <= address


def allocator_for(trace: RecordedTrace) -> TunedAllocator:
    """An empty allocator with a trace's settings, for `RecordedDriver`.

    Expandable segments are on as for the first call to the driver: they can be switched on the way.
    """
    if not trace.settings.expandable_segments:
        return TunedAllocator(RecordedDriver(), trace.settings)
    allocator = ExpandableAllocator(RecordedDriver(), trace.settings)
    takes = (call.action for call in trace.calls if call.action in TAKES)
    allocator.expandable = next(takes, "segment_map") == "segment_map"
    return allocator
