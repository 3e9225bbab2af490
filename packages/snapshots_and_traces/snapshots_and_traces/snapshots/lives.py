"""The lives of a snapshot's allocations: who was there when, how much there was, and the peak.

A trace of n events has n + 1 moments: moment 0 is before the first event, moment k after k events.
Something lives from the moment `birth` up to, not including, the moment `death`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from snapshots_and_traces.allocator.settings import Settings
from snapshots_and_traces.snapshots.events import ACTIONS, Trace
from snapshots_and_traces.snapshots.pages import Pages
from snapshots_and_traces.snapshots.rewind import Start, rewind
from snapshots_and_traces.snapshots.sizes import block_sizes
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
        known = [b.size for s in self.start.segments for b in s.blocks if b.live]
        segments = self.ranges.first(self.first_page)
        return np.array(block_sizes(self.settings, known, self.allocations, segments), np.int64)

    @cached_property
    def stacks(self) -> Array:
        """For each allocation the number of the stack that asked for it; 0 where it isn't known."""
        early = [b.stack for s in self.start.segments for b in s.blocks if b.live]
        return np.append(early, self.trace.stack[self.allocations.event[len(early) :]]).astype(int)

    @cached_property
    def sites_by_weight(self) -> list[str]:
        """Who asked (or the kinds), by bytes times moments held, most first."""
        lives = self.allocations
        held = (lives.death - lives.birth) * lives.size.astype(float)
        weight = np.bincount(self.sites, held, len(self.site_names))
        return [self.site_names[i] for i in np.argsort(-weight, kind="stable")]

    def bytes_of_sites(self, moment: int) -> dict[str, int]:
        """Live bytes at a moment by who asked (or by kind), most first."""
        alive = self.allocations.at(moment)
        sums = np.bincount(
            self.sites[alive], self.allocations.size[alive], len(self.site_names)
        ).astype(np.int64)
        order = np.argsort(-sums, kind="stable")
        return {self.site_names[i]: int(sums[i]) for i in order if sums[i]}


def history(snapshot: Snapshot, device: int | None = None) -> History:
    """The lives of all allocations of a device's trace. Raises: ValueError, as `trace` has."""
    trace, start = snapshot.trace(device), rewind(snapshot, device)
    early = [b for s in start.segments for b in s.blocks if b.live]
    allocations = _lives(
        trace,
        ("alloc",),
        ("free_completed", "free"),
        [(b.address, b.requested_size) for b in early],
    )
    sites, names, by_category = _sites(trace, allocations, [b.stack for b in early])
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
    pages = Pages()
    for s in start.segments:
        if s.is_expandable:
            pages.unmap(s.address, s.end, -1)  # nothing, but in a file whose segments overlap
            pages.map(s.address, s.end, -1)
    places = trace.where("segment_map", "segment_unmap")
    rows = zip(
        places.tolist(), trace.addr[places].tolist(), trace.size[places].tolist(), strict=True
    )
    for place, address, size in rows:
        pages.unmap(address, address + size, place)
        if ACTIONS[trace.action[place]] == "segment_map":
            pages.map(address, address + size, place)
    address, size, event, death = pages.rows(len(trace))
    return segments, Lives(address, size, event + 1, death + 1, event)


def _joined(a: Lives, b: Lives) -> Lives:
    columns = ("address", "size", "birth", "death", "event")
    return Lives(*(np.concatenate([getattr(a, c), getattr(b, c)]) for c in columns))


def _sites(
    trace: Trace, lives: Lives, early_stacks: Sequence[int]
) -> tuple[Array, tuple[str, ...], bool]:
    """For each allocation the place of its kind, where the events have one, or of who asked."""
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
