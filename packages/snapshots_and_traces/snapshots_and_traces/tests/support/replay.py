"""A recorded trace through our allocator: does it decide what the real one did?

It is given what the program asked for (`alloc`, `free_completed`) and when cached memory was given
back, never what the allocator answered. From the driver's real answers it takes only the addresses.
Expandable segments are replayed by the library alone (`recorded.is_repeated`): no real file that we
have uses them.
"""

from collections import Counter
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any

from snapshots_and_traces.allocator.rules import FREE, LARGEST_SMALL, USED, Block, Driver
from snapshots_and_traces.replay import recorded
from snapshots_and_traces.replay.recorded import GIVES, TAKES, RecordedTrace
from snapshots_and_traces.snapshots.events import Event
from snapshots_and_traces.snapshots.snapshot import Segment

FAKE = 2**60  # where addresses begin that no driver gave


class RecordedDriver(Driver):
    """Never refuses; answers a call that was recorded too with the address recorded for it."""

    def __init__(self) -> None:
        super().__init__()
        self.coming: list[Event] = []
        self.held: dict[int, int] = {}
        self._next = FAKE

    def malloc(self, size: int, name: str = "segment_alloc", address: int | None = None) -> int:
        """As recorded, else at an address that nothing has."""
        answers = [e.addr for e in self.coming if e.size == size and self.is_clear(e.addr, size)]
        address = answers[0] if answers else self.reserve(size)
        self.held[address] = size
        return super().malloc(size, name, address)

    def free(self, address: int, size: int, name: str = "segment_free") -> None:
        """Takes back what `malloc` gave."""
        super().free(address, size, name)
        del self.held[address]

    def is_clear(self, address: int, size: int) -> bool:
        """Whether no segment of ours is there: it may keep one that the real one gave back."""
        return all(a + n <= address or address + size <= a for a, n in self.held.items())


@dataclass
class Replay:
    """What our allocator decided beside what was recorded. Sizes in bytes.

    `same` is how many of the `requests` made the driver calls that were recorded for them, none in
    most. `segment_allocs`, `segment_frees` and `peak_reserved` are (recorded, ours).
    """

    requests: int = 0
    same: int = 0
    same_address: int = 0
    segment_allocs: tuple[int, int] = (0, 0)
    segment_frees: tuple[int, int] = (0, 0)
    peak_reserved: tuple[int, int] = (0, 0)
    peak_allocated: int = 0
    first_difference: str = ""

    @property
    def exact(self) -> bool:
        """Every decision, size and address, and the peak, as recorded."""
        pairs = (self.segment_allocs, self.segment_frees, self.peak_reserved)
        equal = all(theirs == ours for theirs, ours in pairs)
        return equal and not self.first_difference and self.same_address == self.requests


def replay(trace: RecordedTrace, allocator: Any = None) -> Replay:
    """Runs a recorded trace through `allocator`, by default ours with the recorded settings."""
    allocator = allocator or recorded.allocator_for(trace.settings, RecordedDriver())
    driver, found = allocator.driver, Replay()
    live = restored(allocator, trace)
    held = peak = allocator.reserved
    at = 0
    for action, run in groupby(trace.events, lambda event: event.action):
        for event in (events := list(run)):
            at += 1
            made = len(driver.calls)
            if action in TAKES:
                held += event.size
                peak = max(peak, held)
                driver.coming.append(event)
            elif action == "alloc":
                wanted = [e for e in driver.coming if e.addr == event.addr]
                block = live[event.addr] = allocator.malloc(event.size, event.stream, event.pool)
                driver.coming = [e for e in driver.coming if e not in wanted]
                found.requests += 1
                found.same_address += block.address == event.addr
                found.same += compared(found, at, wanted, driver.calls[made:])
            elif action == "free_completed":
                allocator.free(live.pop(event.addr))
        if action in GIVES:
            held -= sum(event.size for event in events)
            for pool in dict.fromkeys(event.pool for event in events):
                allocator.empty_cache(pool)
            compared(found, at, events, driver.calls[made:])
    recorded_calls, ours = (
        Counter(names)
        for names in ((e.action for e in trace.events), (name for name, *_ in driver.calls))
    )
    found.segment_allocs = (recorded_calls["segment_alloc"], ours["segment_alloc"])
    found.segment_frees = (recorded_calls["segment_free"], ours["segment_free"])
    found.peak_reserved = (peak, allocator.peak_reserved)
    found.peak_allocated = allocator.peak_allocated
    return found


def compared(found: Replay, at: int, real: list[Event], ours: list[tuple[str, int, int]]) -> bool:
    """Whether the driver was asked the same; notes the first difference."""
    wanted = [(event.action, event.addr, event.size) for event in real]
    if wanted != ours and not found.first_difference:
        found.first_difference = (
            f"event {at}: the driver was asked {wanted[:3]}; ours asks {ours[:3]}"
        )
    return wanted == ours


def restored(allocator: Any, trace: RecordedTrace) -> dict[int, Block]:
    """Puts an empty `allocator` into the state in which the trace begins.

    Returns the blocks in use by address.
    """
    blocks = [b for segment in trace.start.segments for b in _blocks(allocator, segment)]
    for block in blocks:
        if block.state == FREE:
            block.pool.add(block)
    used = {block.address: block for block in blocks if block.state == USED}
    allocator.driver.held = {s.address: s.total_size for s in trace.start.segments}
    allocator.allocated = allocator.peak_allocated = sum(block.size for block in used.values())
    allocator.reserved = allocator.peak_reserved = trace.start.reserved_bytes
    return used


def _blocks(allocator: Any, segment: Segment) -> list[Block]:
    size = 1 if segment.kind == "small" else LARGEST_SMALL + 1
    pool = allocator.pool(size, segment.stream, segment.pool)
    blocks = [Block(pool, b.address, b.size, USED if b.live else FREE) for b in segment.blocks]
    for before, after in pairwise(blocks):
        before.after, after.before = after, before
    return blocks
