"""A recorded trace through our allocator: does it decide what the real one did?

It is given what the program did (`alloc`, `free_completed`) and when cached memory was given back,
never what the allocator answered. From the driver's real answers it takes only the addresses.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from course_utils.memory.allocator.expandable import ExpandableAllocator
from course_utils.memory.recorded import (
    GIVES,
    TAKES,
    RecordedDriver,
    RecordedTrace,
    allocator_for,
    recorded_trace,
)
from course_utils.memory.recorded_start import Call
from course_utils.memory.restored_allocator import restore
from course_utils.memory.snapshots.snapshot import Snapshot


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
        """Every decision, every size and the peak as recorded."""
        taken, given = set(self.segment_allocs), set(self.segment_frees)
        peaks = set(self.peak_reserved)
        return self.same == self.requests and len(taken) == len(given) == len(peaks) == 1


def replay(trace: RecordedTrace, allocator: Any = None) -> Replay:
    """Runs a recorded trace through `allocator`, by default ours with the recorded settings."""
    return _Run(trace, allocator or allocator_for(trace)).whole()


def is_repeated(snapshot: Snapshot) -> bool:
    """Whether our allocator, given what was asked, decides all as recorded, addresses included."""
    found = replay(recorded_trace(snapshot))
    return found.exact and found.same_address == found.allocs


def events(snapshot: Snapshot) -> list[tuple[str, int]]:
    """What an allocator did, in order: actions and their bytes."""
    return [(event.action, event.size) for event in snapshot.trace().events()]


def blocks(snapshot: Snapshot) -> list[list[tuple[int, str]]]:
    """What it held at the end: for each segment its blocks, in bytes, and their states.

    Segments are in order of their content, since addresses are the driver's choice.
    """
    return sorted([(b.size, b.state) for b in one.blocks] for one in snapshot.segments())


class _Run:
    """One replay: ours and what was recorded, event by event."""

    def __init__(self, trace: RecordedTrace, allocator: Any) -> None:
        self.trace, self.allocator = trace, allocator
        self.driver: RecordedDriver = allocator.driver
        self.live = restore(allocator, trace.start, trace.calls)
        for held in trace.start.held:
            if not held.expandable:
                self.driver.hold(held.address, held.size)
        self.reserved = self.peak = allocator.reserved
        self.coming: list[Call] = []
        self.searched = False
        self.found = Replay(trace.title, len(trace.calls), odd=trace.start.odd)
        self.counts = {TAKES: [0, 0, 0], GIVES: [0, 0, 0]}

    def whole(self) -> Replay:
        calls, i = self.trace.calls, 0
        while i < len(calls):
            action = calls[i].action
            if action == "alloc":
                self.alloc(i, calls[i])
            elif action == "free_completed":
                self.free(calls[i])
            elif action in TAKES:
                self.reserved += calls[i].size
                self.peak = max(self.peak, self.reserved)
                self.coming.append(calls[i])
                if isinstance(self.allocator, ExpandableAllocator):
                    self.allocator.expandable = action == "segment_map"
            elif action in GIVES:
                last = i
                while last + 1 < len(calls) and calls[last + 1].action in GIVES:
                    last += 1
                self.release(last, calls[i : last + 1])
                i = last
            elif action == "oom":
                self.oom(i, calls[i])
            elif action not in ("free_requested", "snapshot"):
                self.found.unknown[action] += 1
            i += 1
        return self.result()

    def alloc(self, i: int, call: Call) -> None:
        if call.addr in self.live:
            self.found.odd += 1
            self.allocator.free(self.live.pop(call.addr))
        made = len(self.driver.calls)
        coming = [c for c in self.coming if c.action == "segment_map" or c.addr == call.addr]
        self.driver.coming = coming
        if self.searched:
            block = self.without_search(call)
        else:
            block = self.allocator.malloc(call.size, call.stream, call.pool)
        self.live[call.addr] = block
        self.found.requests += 1
        self.found.allocs += 1
        self.found.same_address += block.address == call.addr
        if coming:
            self.coming = [c for c in self.coming if c not in coming]
        if coming or len(self.driver.calls) > made:
            self.compare(i, TAKES, coming, self.driver.calls[made:], addresses=False)
        else:
            self.found.same += 1

    def without_search(self, call: Call) -> Any:
        """A request that made the allocator give back memory had searched before that; it asks
        the driver next, though what was given back may have changed what fits.
        """
        self.searched = False
        self.allocator.find = lambda pool, size: None
        try:
            return self.allocator.malloc(call.size, call.stream, call.pool)
        finally:
            del self.allocator.find

    def was_delayed(self, i: int) -> bool:
        """Whether event `i` frees a block that other streams had used, for want of memory."""
        asked, done = self.trace.calls[max(i - 1, 0)], self.trace.calls[i]
        wanted = ("free_requested", done.addr)
        return done.action == "free_completed" and (asked.action, asked.addr) != wanted

    def free(self, call: Call) -> None:
        block = self.live.pop(call.addr, None)
        if block is None:
            self.found.odd += 1
        else:
            self.allocator.free(block)

    def release(self, last: int, run: list[Call]) -> None:
        """A point where cached memory was given back, by empty_cache or within a request."""
        self.reserved -= sum(call.size for call in run)
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
        for pool in dict.fromkeys(call.pool for call in run[len(self.driver.calls) - made :]):
            allocator.empty_cache(pool)
        self.compare(last, GIVES, run, self.driver.calls[made:], addresses=True)

    def request_after(self, last: int) -> Call | None:
        """The request that made the allocator give back, if it was one: it asks for more next."""
        after = self.next_of(last, (*TAKES, *GIVES, "alloc", "oom", "free_completed"))
        if after is None or after.action not in (*TAKES, "oom"):
            return None
        return self.next_of(last, ("alloc", "oom"))

    def next_of(self, i: int, actions: tuple[str, ...]) -> Call | None:
        calls = self.trace.calls
        places = range(i + 1, len(calls))
        return next((calls[place] for place in places if calls[place].action in actions), None)

    def adopt_mappings(self) -> None:
        """Mappings of a request that then failed were made, whatever became of it."""
        for call in self.coming:
            for pool in self.allocator.pools.values():
                at = [b for a, b in getattr(pool, "unmapped", ()) if a == call.addr]
                if call.action == "segment_map" and at:
                    self.allocator.map(at[0], call.size)
                    self.note(TAKES, [call], self.driver.calls[-1:], 1)
        self.coming = []

    def oom(self, i: int, call: Call) -> None:
        """The real one found nothing and got nothing; ours must find nothing either."""
        self.adopt_mappings()
        self.found.requests += 1
        self.searched = False
        allocator = self.allocator
        size = allocator.round(call.size)
        if allocator.find(allocator.pool(size, call.stream, call.pool), size) is None:
            self.found.same += 1
        elif not self.found.first_difference:
            self.found.first_difference = f"event {i}: out of memory, where ours has a free block"

    def compare(
        self,
        i: int,
        kind: tuple[str, str],
        real: list[Call],
        ours: list[tuple[str, int, int]],
        addresses: bool,
    ) -> None:
        def seen(name: str, address: int, size: int) -> tuple[str, int, int]:
            return (name, address if addresses else 0, size)

        wanted = [seen(call.action, call.addr, call.size) for call in real]
        made = [seen(*call) for call in ours]
        self.note(kind, real, ours, sum((Counter(wanted) & Counter(made)).values()))
        if wanted == made:
            self.found.same += kind is TAKES
        elif not self.found.first_difference:
            was = ", ".join(f"{call.action} {call.size}" for call in real[:3]) or "nothing"
            own = ", ".join(f"{name} {size}" for name, _, size in ours[:3]) or "nothing"
            self.found.first_difference = f"event {i}: the driver was asked {was}; ours asks {own}"

    def note(self, kind: tuple[str, str], real: list[Call], ours: list[Any], same: int) -> None:
        counts = self.counts[kind]
        counts[:] = [counts[0] + len(real), counts[1] + len(ours), counts[2] + same]

    def result(self) -> Replay:
        takes, gives = self.counts[TAKES], self.counts[GIVES]
        self.found.segment_allocs = (takes[0], takes[1], takes[2])
        self.found.segment_frees = (gives[0], gives[1], gives[2])
        self.found.peak_reserved = (self.peak, self.allocator.peak_reserved)
        self.found.peak_allocated = self.allocator.peak_allocated
        return self.found
