"""The allocator as it was when a recorded trace began, worked out backwards from its end.

A snapshot shows segments and blocks as they were at its end, and the events before that, of which
the oldest may be lost. Undoing the events one by one gives the blocks in use at the start; what
is between them is free.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

from course_utils.memory.allocator.rules import (
    LARGE_SEGMENT,
    LARGEST_SMALL,
    SMALL_SEGMENT,
    Block,
    CachingAllocator,
)

PAGE = SMALL_SEGMENT
DEFAULT = (0, 0)
FAR = 2**38  # bytes; addresses further apart than any device is large are of different ranges


class Call(NamedTuple):
    """One event of a trace: sizes in bytes, of blocks as requested; `pool` is the memory pool."""

    action: str
    addr: int
    size: int
    stream: int = 0
    pool: Any = DEFAULT


class Owner(NamedTuple):
    """Whose memory it is: a stream's, for small or large requests, of a memory pool."""

    stream: int
    small: bool
    pool: Any


@dataclass
class Held:
    """A segment, or a mapped range of an expandable one, with its blocks in use.

    `blocks` maps an address to bytes: of the block where that is known, else, below 0, requested.
    """

    address: int
    size: int
    owner: Owner
    expandable: bool = False
    blocks: dict[int, int] = field(default_factory=dict)

    @property
    def end(self) -> int:
        return self.address + self.size


@dataclass
class Start:
    """What was held when the trace began; `odd` counts events that contradict the final state."""

    held: list[Held]
    odd: int = 0


def with_pools(segments: Sequence[Any], events: Iterable[Any]) -> list[Call]:
    """The events, those of private pools marked where the file (before 2.13) doesn't.

    `segments` and `events` are those of `memory.snapshots.snapshot`, or anything of that shape.
    """
    calls = [Call(e.action, e.addr, e.size, e.stream, tuple(e.pool)) for e in events]
    if any(call.action == "free" for call in calls):
        calls = [c._replace(action="free_completed") if c.action == "free" else c for c in calls]
    private = any(tuple(s.pool) != DEFAULT for s in segments)
    if not private or any(call.pool != DEFAULT for call in calls):
        return calls
    ordered = sorted(segments, key=lambda s: s.address)
    starts = [s.address for s in ordered]

    def marked(call: Call) -> Call:
        segment = ordered[bisect_right(starts, call.addr) - 1]
        inside = segment.address <= call.addr < segment.address + segment.total_size
        return call._replace(pool=tuple(segment.pool)) if inside else call

    return [marked(call) for call in calls]


def rewind(segments: Sequence[Any], calls: Sequence[Call]) -> Start:
    """What was held before the first of `calls`, where `segments` is held after the last."""
    start = Start([])
    whole = {s.address: _held(s) for s in segments if not s.is_expandable}
    pages = {p: _owner(s) for s in segments if s.is_expandable for p in _pages(s)}
    used = {b.address: b.size for s in segments for b in s.blocks if b.state != "inactive"}
    owner_near = _Evidence(segments, calls)
    for action, addr, size, stream, pool in reversed(calls):
        if action == "alloc":
            start.odd += used.pop(addr, None) is None
        elif action == "free_completed":
            start.odd += addr in used
            used[addr] = -size
        elif action == "segment_alloc":
            start.odd += whole.pop(addr, None) is None
        elif action == "segment_free":
            whole[addr] = Held(addr, size, Owner(stream, size <= SMALL_SEGMENT, pool))
        elif action == "segment_map":
            for page in range(addr, addr + size, PAGE):
                start.odd += pages.pop(page, None) is None
        elif action == "segment_unmap":
            owner = owner_near(addr, size, stream, pool)
            pages.update((page, owner) for page in range(addr, addr + size, PAGE))
    start.held = sorted([*whole.values(), *_ranges(pages)], key=lambda held: held.address)
    start.odd += _put_blocks(start.held, used)
    return start


def _held(segment: Any) -> Held:
    return Held(segment.address, segment.total_size, _owner(segment))


def _owner(segment: Any) -> Owner:
    return Owner(segment.stream, segment.kind == "small", tuple(segment.pool))


def _pages(segment: Any) -> range:
    return range(segment.address, segment.address + segment.total_size, PAGE)


def _ranges(pages: dict[int, Owner]) -> list[Held]:
    """Pages that follow each other and have one owner, joined."""
    ranges: list[Held] = []
    for page in sorted(pages):
        if ranges and ranges[-1].end == page and ranges[-1].owner == pages[page]:
            ranges[-1].size += PAGE
        else:
            ranges.append(Held(page, PAGE, pages[page], expandable=True))
    return ranges


def _put_blocks(held: Sequence[Held], used: dict[int, int]) -> int:
    """Sorts blocks into what holds them; returns how many lie nowhere."""
    starts, lost = [one.address for one in held], 0
    for address in sorted(used):
        i = bisect_right(starts, address) - 1
        if i < 0 or address >= held[i].end:
            lost += 1
        else:
            held[i].blocks[address] = used[address]
    return lost


class _Evidence:
    """Whose an unmapped page was, which its event doesn't say: the nearest block's owner."""

    def __init__(self, segments: Sequence[Any], calls: Sequence[Call]) -> None:
        known = {s.address: _owner(s) for s in segments if s.is_expandable}
        if any(call.action == "segment_unmap" for call in calls):
            for action, addr, size, stream, pool in calls:
                if action in ("alloc", "free_completed"):
                    known[addr] = Owner(stream, size <= LARGEST_SMALL, pool)
        self.known = known
        self.places = sorted(known)

    def __call__(self, address: int, size: int, stream: int, pool: Any) -> Owner:
        if size % LARGE_SEGMENT:
            return Owner(stream, True, pool)
        i = bisect_left(self.places, address)
        near = [
            (abs(place - address), self.known[place])
            for place in self.places[max(0, i - 1) : i + 1]
            if self.known[place].stream == stream
            and pool in (DEFAULT, self.known[place].pool)
            and abs(place - address) < FAR
        ]
        return min(near)[1] if near else Owner(stream, False, pool)


def settle_sizes(rules: CachingAllocator, start: Start, calls: Sequence[Call]) -> None:
    """Replaces requests by the sizes of their blocks, which are larger where nothing was split.

    A rest too small to split belongs to the block before it. Where more is free behind a block,
    the first block put there in its lifetime shows where it ends.
    """
    unsure: dict[int, tuple[Held, int, int]] = {}
    for one in start.held:
        pool = rules.pool(1 if one.owner.small else LARGEST_SMALL + 1, one.owner.stream)
        starts = sorted(one.blocks)
        for address, end in pairwise([*starts, one.end]):
            if one.blocks[address] > 0:
                continue
            least = min(rules.round(-one.blocks[address]), end - address)
            one.blocks[address] = least
            room = Block(pool, address, end - address)
            if not rules.splits(room, least):
                one.blocks[address] = end - address
            elif not one.owner.small and not one.expandable:
                unsure[address] = (one, address + least, end)
    if unsure:
        _settle_by_neighbours(unsure, calls)


def _settle_by_neighbours(unsure: dict[int, tuple[Held, int, int]], calls: Sequence[Call]) -> None:
    places = sorted(unsure)
    for action, addr, *_ in calls:
        if action == "free_completed":
            unsure.pop(addr, None)
        elif action == "alloc":
            i = bisect_right(places, addr) - 1
            found = unsure.get(places[i]) if i >= 0 else None
            if found and found[1] <= addr < found[2]:
                if addr - found[1] <= LARGEST_SMALL:
                    found[0].blocks[places[i]] = addr - places[i]
                del unsure[places[i]]
