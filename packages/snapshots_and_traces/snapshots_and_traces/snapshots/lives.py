"""The lives of a snapshot's allocations: which were live when, how many bytes, and the peak.

A trace of n events has n + 1 moments: moment 0 is before the first event, moment k after k events.
Something lives from the moment `birth` up to, not including, the moment `death`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from sortedcontainers import SortedDict, SortedSet

from snapshots_and_traces.allocator import rules
from snapshots_and_traces.allocator.settings import Settings
from snapshots_and_traces.allocator.tuned import TunedAllocator
from snapshots_and_traces.snapshots.events import ACTIONS, Trace
from snapshots_and_traces.snapshots.rewind import Start, after, rewind, up_to
from snapshots_and_traces.snapshots.snapshot import Snapshot
from snapshots_and_traces.snapshots.stacks import who

MOST_SUM = 2.0**62  # bytes, of all that a trace ever began; more doesn't fit in the columns
BEFORE = "before the trace"
Array = np.ndarray


@dataclass(frozen=True)
class Lives:
    """Columns, one place for each life: bytes at an address, between two moments.

    `event` is the place of the event that began it, -1 where the trace begins later.
    """

    address: Array
    size: Array
    birth: Array
    death: Array
    event: Array

    def __len__(self) -> int:
        return len(self.size)

    def at(self, moment: int) -> Array:
        """The places of those that live at a moment."""
        return np.flatnonzero((self.birth <= moment) & (moment < self.death))

    def first(self, count: int) -> "Lives":
        """The first `count` of them."""
        return Lives(*(getattr(self, column)[:count] for column in self.__dataclass_fields__))

    def totals(self, moments: int) -> Array:
        """Bytes alive at each of so many moments."""
        change = np.zeros(moments + 1, np.int64)
        np.add.at(change, self.birth, self.size)
        np.subtract.at(change, np.minimum(self.death, moments), self.size)
        return np.cumsum(change)[:moments]


@dataclass(frozen=True)
class History:
    """A device's memory through time.

    `allocations` have requested bytes; `ranges` are what the driver gave: segments and, from place
    `first_page` on, mapped pages of expandable segments, those that came and went together as one.
    `live` and `reserved` are their bytes at each moment. `sites` says for each allocation which of
    `site_names` asked for it.
    """

    name: str
    trace: Trace = field(repr=False)
    settings: Settings = field(repr=False)
    start: Start = field(repr=False)
    allocations: Lives = field(repr=False)
    ranges: Lives = field(repr=False)
    first_page: int
    sites: Array = field(repr=False)
    site_names: tuple[str, ...] = field(repr=False)
    by_category: bool

    @property
    def moments(self) -> int:
        return len(self.trace) + 1

    @cached_property
    def live(self) -> Array:
        return self.allocations.totals(self.moments)

    @cached_property
    def reserved(self) -> Array:
        return self.ranges.totals(self.moments)

    @cached_property
    def peak(self) -> int:
        """The first moment at which most was live."""
        return int(self.live.argmax())

    @cached_property
    def block_sizes(self) -> Array:
        """Bytes of each allocation's block: what was requested, rounded, and what isn't split."""
        known = [block.size for block in self.start.live]
        segments = self.ranges.first(self.first_page)
        return _block_sizes(self.settings, known, self.allocations, segments)

    @cached_property
    def stacks(self) -> Array:
        """For each allocation the number of the stack that asked for it; 0 where it isn't known."""
        early = [block.stack for block in self.start.live]
        return np.append(early, self.trace.stack[self.allocations.event[len(early) :]]).astype(int)

    @cached_property
    def sites_by_weight(self) -> list[str]:
        """Call sites (or kinds) by bytes times moments held, most first."""
        lives = self.allocations
        held = (lives.death - lives.birth) * lives.size.astype(float)
        weight = np.bincount(self.sites, held, len(self.site_names))
        return [self.site_names[i] for i in np.argsort(-weight, kind="stable")]

    def held_by_site(self, moment: int) -> Array:
        """Live bytes at a moment of each of `site_names`."""
        alive = self.allocations.at(moment)
        sizes = self.allocations.size[alive]
        return np.bincount(self.sites[alive], sizes, len(self.site_names)).astype(np.int64)

    def bytes_of_sites(self, moment: int) -> dict[str, int]:
        """Live bytes at a moment by call site (or by kind), most first."""
        sums = self.held_by_site(moment)
        order = np.argsort(-sums, kind="stable")
        return {self.site_names[i]: int(sums[i]) for i in order if sums[i]}


def history(snapshot: Snapshot, device: int | None = None) -> History:
    """The lives of all allocations of a device's trace. Raises: ValueError, as `trace` has."""
    trace, start = snapshot.trace(device), rewind(snapshot, device)
    early = [(block.address, block.requested_size) for block in start.live]
    allocations = _lives(trace, ("alloc",), ("free_completed",), early)
    sites, names, by_category = _sites(trace, allocations, [block.stack for block in start.live])
    segments, pages = _ranges(trace, start)
    ranges = _joined(segments, pages)
    if max(each.size.sum(dtype=float) for each in (allocations, ranges)) > MOST_SUM:
        raise ValueError(
            f"{snapshot.name} hands out more bytes than can be: it isn't a real trace."
        )
    return History(
        name=snapshot.name, trace=trace, settings=Settings.of_snapshot(snapshot.settings),
        start=start, allocations=allocations, ranges=ranges, first_page=len(segments),
        sites=sites, site_names=names, by_category=by_category,
    )  # fmt: skip


def _lives(
    trace: Trace, begin: Sequence[str], end: Sequence[str], early: Sequence[tuple[int, int]]
) -> Lives:
    begins, ends = trace.where(*begin), trace.where(*end)
    early_address = np.array([address for address, _ in early], np.int64)
    early_size = np.array([size for _, size in early], np.int64)
    return _paired(
        np.concatenate([early_address, trace.addr[begins]]),
        np.concatenate([early_size, trace.size[begins]]),
        np.concatenate([np.full(len(early), -1), begins]),
        trace.addr[ends], ends, len(trace),
    )  # fmt: skip


def _paired(
    address: Array, size: Array, event: Array, gone: Array, gone_at: Array, events: int
) -> Lives:
    """The lives that begin at `event`: each ends with the next end at its address or, where that
    event is lost, with the next beginning there.
    """
    places = np.concatenate([event, gone_at])
    where = np.concatenate([address, gone])
    order = np.lexsort((places, where))
    following = np.full(len(order), events)
    same = where[order][:-1] == where[order][1:]
    following[order[:-1][same]] = places[order[1:][same]]
    return Lives(address, size, event + 1, following[: len(event)] + 1, event)


def _ranges(trace: Trace, start: Start) -> tuple[Lives, Lives]:
    """Whole segments, and the pages of expandable ones, which come and go by themselves."""
    whole = [(s.address, s.total_size) for s in start.segments if not s.is_expandable]
    segments = _lives(trace, ("segment_alloc",), ("segment_free",), whole)
    pages = _Pages()
    for s in start.segments:
        if s.is_expandable:
            pages.change(s.address, s.end, -1, mapped=True)
    places = trace.where("segment_map", "segment_unmap")
    for place in places.tolist():
        address, size = int(trace.addr[place]), int(trace.size[place])
        mapped = ACTIONS[trace.action[place]] == "segment_map"
        pages.change(address, address + size, place, mapped)
    return segments, pages.lives(len(trace))


class _Pages:
    """The mapped pages of expandable segments, in pieces that came and went together."""

    def __init__(self) -> None:
        self.mapped = SortedDict()  # by where a piece begins: its end, and the event
        self.gone: list[tuple[int, int, int, int]] = []

    def change(self, address: int, end: int, event: int, mapped: bool) -> None:
        """Maps a range, or unmaps it; ends what was mapped there, and what is outside goes on."""
        last = up_to(self.mapped, end - 1)
        while last is not None and self.mapped[last][0] > address:
            stop, begun = self.mapped.pop(last)
            low, high = max(last, address), min(stop, end)
            self.gone.append((low, high - low, begun, event))
            self._add(last, low, begun)
            self._add(high, stop, begun)
            last = up_to(self.mapped, low - 1) if low > address else None
        if mapped:
            self._add(address, end, event)

    def _add(self, address: int, end: int, event: int) -> None:
        if end > address:
            self.mapped[address] = end, event

    def lives(self, events: int) -> Lives:
        """Each piece, by its beginning; what is still mapped ends after all `events`."""
        rest = [(at, end - at, event, events) for at, (end, event) in self.mapped.items()]
        rows = np.array([*self.gone, *rest], np.int64).reshape(-1, 4)
        address, size, event, death = rows[np.argsort(rows[:, 2], kind="stable")].T
        return Lives(address, size, event + 1, death + 1, event)


def _joined(a: Lives, b: Lives) -> Lives:
    columns = ("address", "size", "birth", "death", "event")
    return Lives(*(np.concatenate([getattr(a, c), getattr(b, c)]) for c in columns))


def _sites(
    trace: Trace, lives: Lives, early_stacks: Sequence[int]
) -> tuple[Array, tuple[str, ...], bool]:
    """The index of each allocation's kind, where the events have one, or of its call site."""
    if trace.category.any():
        names: Sequence[str] = [name or "no kind recorded" for name in trace.categories]
        codes = np.where(lives.event >= 0, trace.category[lives.event], 0)
        early = lives.event < 0
    else:
        names = [who(trace.stacks[number]) for number in range(len(trace.stacks))]
        stacks = (
            np.where(lives.event >= 0, trace.stack[lives.event], 0) if len(trace) else lives.event
        )
        stacks[: len(early_stacks)] = early_stacks
        codes, early = stacks, (lives.event < 0) & (stacks == 0)
    known = {name: place for place, name in enumerate(dict.fromkeys([BEFORE, *names]))}
    codes = np.array([known[name] for name in names])[codes]
    return np.where(early, 0, codes), tuple(known), bool(trace.category.any())


def _block_sizes(settings: Settings, known: list[int], lives: Lives, segments: Lives) -> Array:
    """Bytes of the block of each allocation, in the order of `lives`; those of the first are known.

    A trace says what was requested, not what was cut. `segments` are those that aren't expandable:
    in the others every rest is split off. Within a segment free blocks merge, so a block was cut
    from all the room up to the next live one, and has all of it where the rule says that the rest
    isn't split off (`should_split`).
    """
    allocator = TunedAllocator(settings=settings)
    different, which = np.unique(lives.size, return_inverse=True)
    sizes = np.array([allocator.round(size) for size in different.tolist()], np.int64)[which]
    sizes[: len(known)] = known
    pool = rules.Pool(0, small=False)
    for place, room in _rooms(lives, np.flatnonzero(sizes > rules.LARGEST_SMALL), segments):
        size = int(sizes[place])
        if place >= len(known) and not allocator.splits(rules.Block(pool, 0, room), size):
            sizes[place] = max(room, size)
    return sizes


def _rooms(lives: Lives, large: Array, segments: Lives) -> Iterator[tuple[int, int]]:
    """The large allocations within segments, by place, each with the bytes to the next live one."""
    ends, live = SortedDict(), SortedSet()  # of the segments there are, and addresses
    all_segments = np.arange(len(segments))
    goes, comes = (segments.death, lives.death[large]), (segments.birth, lives.birth[large])
    moments = np.concatenate([*goes, *comes])
    what = np.repeat(range(4), [len(segments), len(large)] * 2)
    places = np.concatenate([all_segments, large] * 2)
    order = np.lexsort((what, moments))
    for kind, place in zip(what[order].tolist(), places[order].tolist(), strict=True):
        is_life, begins = kind % 2 == 1, kind >= 2
        address = int((lives if is_life else segments).address[place])
        if not is_life:
            ends.pop(address, None)
            if begins:
                ends[address] = address + int(segments.size[place])
        elif not begins:
            live.discard(address)
        else:
            start, following = up_to(ends, address), after(live, address)
            if start is not None and address < ends[start]:
                yield place, min(ends[start], following or ends[start]) - address
            live.add(address)
