"""Reconstructs what the allocator held when a trace began, backwards from its end.

A trace is a ring buffer: of a long run only the last events are in the file, and what was
allocated before them can be known only by undoing them, last first.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest

from sortedcontainers import SortedDict, SortedSet

from snapshots_and_traces.allocator import expandable, rules
from snapshots_and_traces.allocator.settings import Settings
from snapshots_and_traces.snapshots.events import CODE, Trace
from snapshots_and_traces.snapshots.snapshot import Block, Segment, Snapshot


@dataclass(frozen=True)
class Start:
    """The state before the first event of a trace.

    `segments` have their blocks, free ones merged. The file has lost the size of a block that was
    freed later: it is inferred from the block after it, or from the allocator's rules, which miss
    the slack of a block that nothing follows. `contradictions` counts events that don't fit the
    final state.
    """

    device: int
    segments: tuple[Segment, ...]
    events: int
    contradictions: int

    @property
    def partial(self) -> bool:
        """Whether the trace begins in the middle: something was held already."""
        return bool(self.segments)

    @property
    def live(self) -> list[Block]:
        """The blocks that were handed out, in order of address."""
        return [block for segment in self.segments for block in segment.blocks if block.live]

    @property
    def active_bytes(self) -> int:
        return sum(s.active_size for s in self.segments)

    @property
    def reserved_bytes(self) -> int:
        return sum(s.total_size for s in self.segments)

    def __str__(self) -> str:
        if not self.partial:
            text = (
                f"The trace is complete: its {self.events:,} events begin with an empty allocator."
            )
        else:
            text = (
                f"The trace begins in the middle: {len(self.live):,} blocks, "
                f"{self.active_bytes / 2**20:,.0f} of {self.reserved_bytes / 2**20:,.0f} MiB, were "
                f"there before its {self.events:,} events; worked out backwards from the end."
            )
        doubt = f" {self.contradictions:,} events contradict it." if self.contradictions else ""
        return text + doubt


def rewind(snapshot: Snapshot, device: int | None = None) -> Start:
    """The state of a device's allocator at the beginning of its trace.

    Raises: ValueError where it isn't clear which device is meant.
    """
    number = snapshot.the_device(device)
    trace, segments = snapshot.trace(number), snapshot.segments(number)
    ranges = _Ranges(trace, segments)
    blocks = _Blocks(ranges, segments, Settings.of_snapshot(snapshot.settings))
    undo = {
        CODE["alloc"]: blocks.undo_alloc,
        CODE["free_completed"]: blocks.undo_free_completed,
        CODE["free_requested"]: blocks.undo_free_requested,
        CODE["segment_alloc"]: ranges.undo_alloc,
        CODE["segment_free"]: ranges.undo_free,
        CODE["segment_map"]: ranges.undo_map,
        CODE["segment_unmap"]: ranges.undo_unmap,
    }
    contradictions = 0
    for code, address, size, place in trace.backwards():
        if code in undo and not undo[code](address, size, place):
            contradictions += 1
    found, outside = blocks.within()
    return Start(number, found, len(trace), contradictions + outside)


def up_to(addresses: SortedDict | SortedSet, address: int) -> int | None:
    """The largest of some addresses that isn't above one."""
    return next(addresses.irange(maximum=address, reverse=True), None)


def after(addresses: SortedDict | SortedSet, address: int) -> int | None:
    """The smallest of some addresses above one."""
    return next(addresses.irange(minimum=address, inclusive=(False, True)), None)


class _Blocks:
    """Live blocks by address: a Block that lives to the end, or the bytes that were requested."""

    def __init__(self, ranges: "_Ranges", segments: list[Segment], settings: Settings) -> None:
        self.ranges = ranges
        self.rules = expandable.ExpandableAllocator(settings=settings)
        live = [b for s in segments for b in s.blocks if b.live]
        self.live = SortedDict({b.address: b for b in live})
        self.pending = {b.address for b in live if b.state != "active_allocated"}
        self.sizes: dict[int, int] = {}

    def undo_alloc(self, address: int, _size: int, _place: int) -> bool:
        if self.live.pop(address, None) is None:
            return False
        self.pending.discard(address)
        self.sizes.pop(address, None)
        before = up_to(self.live, address)
        if before is not None:
            self._learn_size(before, address)
        return True

    def _learn_size(self, before: int, address: int) -> None:
        """Sizes the live block `before`: the one allocated after it begins where it ends."""
        if before not in self.sizes and type(self.live[before]) is int:
            whole = self.ranges.at(before)
            if whole and address < whole.end:
                self.sizes[before] = address - before

    def undo_free_completed(self, address: int, size: int, _place: int) -> bool:
        if address in self.live:
            return False
        self.live[address] = size
        self.pending.add(address)
        return True

    def undo_free_requested(self, address: int, _size: int, _place: int) -> bool:
        self.pending.discard(address)
        return address in self.live

    def within(self) -> tuple[tuple[Segment, ...], int]:
        """All ranges with their blocks, and how many live blocks lie outside every range."""
        result, placed = [], 0
        for whole, end in self.ranges.all():
            inside = list(self.live.irange(whole.address, end, inclusive=(True, False)))
            placed += len(inside)
            result.append(self._filled(whole, inside))
        return tuple(result), len(self.live) - placed

    def _filled(self, whole: Segment, live: list[int]) -> Segment:
        """The segment with its live blocks, and a free block in each gap between them."""
        blocks, at = [], whole.address
        for address, end in zip(live, [*live[1:], whole.end], strict=False):
            if address > at:
                blocks.append(Block(at, address - at, 0, "inactive"))
            blocks.append(self._block(address, end - address, whole))
            at = blocks[-1].end
        if whole.end > at:
            blocks.append(Block(at, whole.end - at, 0, "inactive"))
        return whole._replace(blocks=tuple(blocks))

    def _block(self, address: int, room: int, whole: Segment) -> Block:
        state = "active_pending_free" if address in self.pending else "active_allocated"
        known = self.live[address]
        if isinstance(known, Block):
            return known._replace(state=state)
        size = self.sizes.get(address) or self._size(known, room, whole)
        return Block(address, size, known, state)

    def _size(self, requested: int, room: int, whole: Segment) -> int:
        """Bytes that the allocator cuts for a request from `room`, the bytes to the next block."""
        self.rules.expandable = whole.is_expandable
        size = self.rules.round(requested)
        pool = rules.Pool(whole.stream, whole.kind == "small")
        return size if self.rules.splits(rules.Block(pool, 0, room), size) else room


class _Ranges:
    """The memory that the driver had given: segments without their blocks, by address."""

    def __init__(self, trace: Trace, segments: list[Segment]) -> None:
        self.trace = trace
        self.ranges = SortedDict({s.address: s for s in segments})

    def all(self) -> Iterator[tuple[Segment, int]]:
        """Each range, and where its blocks end: before the next, whatever a wrong file says."""
        found = list(self.ranges.values())
        for whole, after in zip_longest(found, found[1:]):
            yield whole, min(whole.end, after.address) if after else whole.end

    def at(self, address: int) -> Segment | None:
        """The range in which an address lies."""
        start = up_to(self.ranges, address)
        whole = self.ranges[start] if start is not None else None
        return whole if whole and address < whole.end else None

    def undo_alloc(self, address: int, size: int, _place: int) -> bool:
        known = self.ranges.get(address)
        return known is not None and known.total_size == size and self._remove(known)

    def undo_free(self, address: int, size: int, place: int) -> bool:
        kind = "small" if size == rules.SMALL_SEGMENT else "large"
        return self._add(self._new(place, kind, is_expandable=False))

    def undo_map(self, address: int, size: int, _place: int) -> bool:
        whole, end = self.at(address), address + size
        if whole is None or not whole.is_expandable or end > whole.end:
            return False
        self._remove(whole)
        for start, stop in ((whole.address, address), (end, whole.end)):
            if stop > start:
                self._add(whole._replace(address=start, total_size=stop - start))
        return True

    def undo_unmap(self, address: int, size: int, place: int) -> bool:
        kind = "large" if size % rules.LARGE_SEGMENT == 0 else "small"
        mapped = self._new(place, kind, is_expandable=True)
        if not self._is_clear(mapped):
            return False
        for other in self._neighbours(mapped):
            self._remove(other)
            start, size = min(other.address, mapped.address), other.total_size + mapped.total_size
            mapped = other._replace(address=start, total_size=size)
        return self._add(mapped)

    def _neighbours(self, new: Segment) -> list[Segment]:
        """The expandable ranges of the same stream that end or begin where this one does."""
        starts = up_to(self.ranges, new.address), after(self.ranges, new.address)
        near = [self.ranges[start] for start in starts if start is not None]
        mine = [r for r in near if r.is_expandable and r.stream == new.stream]
        return [r for r in mine if r.end == new.address or new.end == r.address]

    def _new(self, place: int, kind: str, is_expandable: bool) -> Segment:
        of, pool = self.trace, self.trace.pools[self.trace.pool[place]]
        address, size, stream = (int(c[place]) for c in (of.addr, of.size, of.stream))
        return Segment(of.device, address, size, stream, kind, pool, is_expandable, ())

    def _add(self, new: Segment) -> bool:
        if not self._is_clear(new):
            return False
        self.ranges[new.address] = new
        return True

    def _is_clear(self, new: Segment) -> bool:
        start = up_to(self.ranges, max(new.end - 1, new.address))
        return start is None or (start < new.address and self.ranges[start].end <= new.address)

    def _remove(self, old: Segment) -> bool:
        del self.ranges[old.address]
        return True
