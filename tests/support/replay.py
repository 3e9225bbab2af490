"""A recorded trace through our allocator: does it decide what the real one did?

It is given what the program did (`alloc`, `free_completed`) and when cached memory was given back,
never what the allocator answered. From the driver's real answers it takes only the addresses.
"""

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from course_utils.memory import recorded
from course_utils.memory.allocator.expandable import UNMAPPED, ExpandableAllocator
from course_utils.memory.allocator.rules import (
    FREE,
    LARGEST_SMALL,
    SMALL_SEGMENT,
    USED,
    Block,
    Driver,
)
from course_utils.memory.recorded import FREES, GIVES, TAKES, RecordedTrace
from course_utils.memory.snapshots.events import Event
from course_utils.memory.snapshots.snapshot import Segment

FAKE = 2**60  # where addresses begin that no driver gave
FAR = 2**38  # bytes; addresses further apart than any device is large are of different ranges


class RecordedDriver(Driver):
    """Never refuses; answers a call that was recorded too with the address recorded for it."""

    def __init__(self) -> None:
        super().__init__()
        self.coming: list[Event] = []
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
        """Whether no segment of ours lies in a range.

        One can where the real driver had the range back and our allocator has kept its segment.
        """
        i = bisect_left(self.held, (address + size,))
        return i == 0 or self.held[i - 1][1] <= address


@dataclass
class Replay:
    """What our allocator decided beside what was recorded. Sizes in bytes.

    `requests` are those that got a block, `allocs`, and those that ran out of memory; `same` is
    how many made the driver calls that were recorded for them, none in most. `segment_allocs` and
    `segment_frees` count mappings too, as (recorded, ours, the same). `odd` counts events that
    contradict the others, `unknown` those of a kind that isn't known.
    """

    title: str = ""
    events: int = 0
    requests: int = 0
    allocs: int = 0
    same: int = 0
    same_address: int = 0
    segment_allocs: tuple[int, int, int] = (0, 0, 0)
    segment_frees: tuple[int, int, int] = (0, 0, 0)
    peak_reserved: tuple[int, int] = (0, 0)
    peak_allocated: int = 0
    odd: int = 0
    unknown: Counter[str] = field(default_factory=Counter)
    first_difference: str = ""

    @property
    def exact(self) -> bool:
        """Every decision, size and address, and the peak, as recorded.

        Where a segment lies is the driver's choice, and taken from the record.
        """
        taken, given = set(self.segment_allocs), set(self.segment_frees)
        peaks = set(self.peak_reserved)
        placed = self.same_address == self.allocs
        return placed and self.same == self.requests and len(taken) == len(given) == len(peaks) == 1


def replay(trace: RecordedTrace, allocator: Any = None) -> Replay:
    """Runs a recorded trace through `allocator`, by default ours with the recorded settings."""
    return _Run(trace, allocator or _allocator_for(trace)).whole()


def _allocator_for(trace: RecordedTrace) -> Any:
    """Expandable segments are on as for the first driver call: a program can switch them."""
    allocator = recorded.allocator_for(trace.settings, RecordedDriver())
    if isinstance(allocator, ExpandableAllocator):
        takes = (event.action for event in trace.events if event.action in TAKES)
        allocator.expandable = next(takes, "segment_map") == "segment_map"
    return allocator


class _Run:
    """One replay: ours and what was recorded, event by event."""

    def __init__(self, trace: RecordedTrace, allocator: Any) -> None:
        self.trace, self.allocator = trace, allocator
        self.driver: RecordedDriver = allocator.driver
        self.live = restored(allocator, trace)
        self.reserved = self.peak = allocator.reserved
        self.coming: list[Event] = []
        self.searched = False
        self.found = Replay(trace.title, len(trace.events), odd=trace.start.contradictions)
        self.counts = {TAKES: [0, 0, 0], GIVES: [0, 0, 0]}

    def whole(self) -> Replay:
        events, i = self.trace.events, 0
        while i < len(events):
            action = events[i].action
            if action == "alloc":
                self.alloc(i, events[i])
            elif action in FREES:
                self.free(events[i])
            elif action in TAKES:
                self.reserved += events[i].size
                self.peak = max(self.peak, self.reserved)
                self.coming.append(events[i])
                if isinstance(self.allocator, ExpandableAllocator):
                    self.allocator.expandable = action == "segment_map"
            elif action in GIVES:
                last = i
                while last + 1 < len(events) and events[last + 1].action in GIVES:
                    last += 1
                self.release(last, events[i : last + 1])
                i = last
            elif action == "oom":
                self.oom(i, events[i])
            elif action not in ("free_requested", "snapshot"):
                self.found.unknown[action] += 1
            i += 1
        return self.result()

    def alloc(self, i: int, event: Event) -> None:
        if event.addr in self.live:
            self.found.odd += 1
            self.allocator.free(self.live.pop(event.addr))
        made = len(self.driver.calls)
        coming = [c for c in self.coming if c.action == "segment_map" or c.addr == event.addr]
        self.driver.coming = coming
        if self.searched:
            block = self.without_search(event)
        else:
            block = self.allocator.malloc(event.size, event.stream, event.pool)
        self.live[event.addr] = block
        self.found.requests += 1
        self.found.allocs += 1
        self.found.same_address += block.address == event.addr
        if coming:
            self.coming = [c for c in self.coming if c not in coming]
        if coming or len(self.driver.calls) > made:
            self.compare(i, TAKES, coming, self.driver.calls[made:], addresses=False)
        else:
            self.found.same += 1

    def without_search(self, event: Event) -> Any:
        """A request that made the allocator give back memory had searched before that; it asks
        the driver next, though what was given back may have changed what fits.
        """
        self.searched = False
        self.allocator.find = lambda pool, size: None
        try:
            return self.allocator.malloc(event.size, event.stream, event.pool)
        finally:
            del self.allocator.find

    def was_delayed(self, i: int) -> bool:
        """Whether event `i` frees a block that other streams had used, for want of memory."""
        asked, done = self.trace.events[max(i - 1, 0)], self.trace.events[i]
        wanted = ("free_requested", done.addr)
        return done.action == "free_completed" and (asked.action, asked.addr) != wanted

    def free(self, event: Event) -> None:
        block = self.live.pop(event.addr, None)
        if block is None:
            self.found.odd += 1
        else:
            self.allocator.free(block)

    def release(self, last: int, run: list[Event]) -> None:
        """A point where cached memory was given back, by empty_cache or within a request."""
        self.reserved -= sum(event.size for event in run)
        self.adopt_mappings()
        made, allocator = len(self.driver.calls), self.allocator
        request = self.request_after(last)
        if request is not None:
            size = allocator.round(request.size)
            pool = allocator.pool(size, request.stream, request.pool)
            self.searched = allocator.find(pool, size) is None or self.was_delayed(last - len(run))
            oversize = allocator.oversize(pool, size) if hasattr(allocator, "oversize") else []
            if oversize and oversize[0].address == run[0].addr:
                for block in oversize:
                    allocator.release_block(block)
        for pool in dict.fromkeys(event.pool for event in run[len(self.driver.calls) - made :]):
            allocator.empty_cache(pool)
        self.compare(last, GIVES, run, self.driver.calls[made:], addresses=True)

    def request_after(self, last: int) -> Event | None:
        """The request that made the allocator give back, if it was one: it asks for more next."""
        after = self.next_of(last, (*TAKES, *GIVES, "alloc", "oom", "free_completed"))
        if after is None or after.action not in (*TAKES, "oom"):
            return None
        return self.next_of(last, ("alloc", "oom"))

    def next_of(self, i: int, actions: tuple[str, ...]) -> Event | None:
        events = self.trace.events
        places = range(i + 1, len(events))
        return next((events[place] for place in places if events[place].action in actions), None)

    def adopt_mappings(self) -> None:
        """Mappings of a request that then failed were made, whatever became of it."""
        for event in self.coming:
            for pool in self.allocator.pools.values():
                at = [b for a, b in getattr(pool, "unmapped", ()) if a == event.addr]
                if event.action == "segment_map" and at:
                    self.allocator.map(at[0], event.size)
                    self.note(TAKES, [event], self.driver.calls[-1:], 1)
        self.coming = []

    def oom(self, i: int, event: Event) -> None:
        """The real one found nothing and got nothing; ours must find nothing either."""
        self.adopt_mappings()
        self.found.requests += 1
        self.searched = False
        allocator = self.allocator
        size = allocator.round(event.size)
        if allocator.find(allocator.pool(size, event.stream, event.pool), size) is None:
            self.found.same += 1
        elif not self.found.first_difference:
            self.found.first_difference = f"event {i}: out of memory, where ours has a free block"

    def compare(
        self,
        i: int,
        kind: tuple[str, str],
        real: list[Event],
        ours: list[tuple[str, int, int]],
        addresses: bool,
    ) -> None:
        def seen(name: str, address: int, size: int) -> tuple[str, int, int]:
            return (name, address if addresses else 0, size)

        wanted = [seen(event.action, event.addr, event.size) for event in real]
        made = [seen(*call) for call in ours]
        self.note(kind, real, ours, sum((Counter(wanted) & Counter(made)).values()))
        if wanted == made:
            self.found.same += kind is TAKES
        elif not self.found.first_difference:
            was = ", ".join(f"{event.action} {event.size}" for event in real[:3]) or "nothing"
            own = ", ".join(f"{name} {size}" for name, _, size in ours[:3]) or "nothing"
            self.found.first_difference = f"event {i}: the driver was asked {was}; ours asks {own}"

    def note(self, kind: tuple[str, str], real: list[Event], ours: list[Any], same: int) -> None:
        counts = self.counts[kind]
        counts[:] = [counts[0] + len(real), counts[1] + len(ours), counts[2] + same]

    def result(self) -> Replay:
        takes, gives = self.counts[TAKES], self.counts[GIVES]
        self.found.segment_allocs = (takes[0], takes[1], takes[2])
        self.found.segment_frees = (gives[0], gives[1], gives[2])
        self.found.peak_reserved = (self.peak, self.allocator.peak_reserved)
        self.found.peak_allocated = self.allocator.peak_allocated
        return self.found


def restored(allocator: Any, trace: RecordedTrace) -> dict[int, Block]:
    """Puts an empty `allocator` into the state in which the trace begins.

    Returns the blocks in use by address.
    """
    whole = [s for s in trace.start.segments if not s.is_expandable]
    blocks = [block for segment in whole for block in _linked(_blocks(allocator, segment))]
    for segment in whole:
        allocator.driver.hold(segment.address, segment.total_size)
    for pieces in _address_ranges([s for s in trace.start.segments if s.is_expandable]):
        blocks += _range(allocator, pieces, trace.events)
    for block in blocks:
        if block.state == FREE:
            block.pool.add(block)
    used = {block.address: block for block in blocks if block.state == USED}
    allocator.allocated = allocator.peak_allocated = sum(block.size for block in used.values())
    allocator.reserved = allocator.peak_reserved = trace.start.reserved_bytes
    allocator.driver.used += allocator.reserved
    return used


def _pool(allocator: Any, segment: Segment) -> Any:
    size = 1 if segment.kind == "small" else LARGEST_SMALL + 1
    return allocator.pool(size, segment.stream, segment.pool)


def _blocks(allocator: Any, segment: Segment) -> list[Block]:
    pool = _pool(allocator, segment)
    return [Block(pool, b.address, b.size, USED if b.live else FREE) for b in segment.blocks]


def _linked(blocks: list[Block]) -> list[Block]:
    for before, after in pairwise(blocks):
        before.after, after.before = after, before
    return blocks


def _address_ranges(mapped: Sequence[Segment]) -> list[list[Segment]]:
    """Mapped pieces by the address range that they belong to."""
    ranges: list[list[Segment]] = []
    for piece in sorted(mapped, key=lambda piece: (_owner(piece), piece.address)):
        last = ranges[-1][-1] if ranges else None
        if last and _owner(last) == _owner(piece) and piece.address - last.end < FAR:
            ranges[-1].append(piece)
        else:
            ranges.append([piece])
    return ranges


def _owner(segment: Segment) -> tuple[int, str, tuple[int, int]]:
    return segment.stream, segment.kind, segment.pool


def _range(allocator: Any, pieces: Sequence[Segment], events: Sequence[Event]) -> list[Block]:
    """The blocks of one address range, with unmapped ones before, between and behind."""
    pool = _pool(allocator, pieces[0])
    rest = allocator.new_place(pool, _lowest(pieces[0], events))
    pool.remove_unmapped(rest)
    end, blocks, at = rest.address + rest.size, [], rest.address
    for piece in pieces:
        if piece.address > at:
            blocks.append(Block(pool, at, piece.address - at, UNMAPPED))
        blocks += _blocks(allocator, piece)
        at = piece.end
    blocks.append(Block(pool, at, end - at, UNMAPPED))
    for block in _linked(blocks):
        block.place = rest.place
        if block.state == UNMAPPED:
            pool.add_unmapped(block)
    return blocks


def _lowest(first: Segment, events: Sequence[Event]) -> int:
    """Where the address range of `first` begins: no later than anything mapped in it.

    One request for small blocks never maps more than a page, which tells the two pools apart.
    """
    mapped = [
        event.addr
        for event in events
        if event.action == "segment_map"
        and event.stream == first.stream
        and (event.size == SMALL_SEGMENT) == (first.kind == "small")
        and first.address - FAR < event.addr < first.address
    ]
    return min([first.address, *mapped])
