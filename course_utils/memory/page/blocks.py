"""The sizes of blocks, which a trace leaves out: an event says only what was requested.

From a free block the allocator cuts what was requested, rounded up to 512 bytes. Where the rest is
too small to keep apart it goes along: up to a MiB in the segments of large requests.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from course_utils.memory.allocator.rules import LARGEST_SMALL
from course_utils.memory.allocator.settings import Settings
from course_utils.memory.snapshots.lives import Array, History, history
from course_utils.memory.snapshots.snapshot import Snapshot

FREED, GIVEN_BACK, GIVEN, HANDED_OUT = range(4)  # of one moment's changes, the order


@dataclass(frozen=True)
class HistoryOfBlocks(History):
    """A history whose `block_sizes` have the rest that went along, by the rule `should_split`."""

    max_split_size: float

    @cached_property
    def block_sizes(self) -> Array:
        lives, sizes = self.allocations, super().block_sizes.copy()
        early = [b.size for s in self.start.segments for b in s.blocks if b.live]
        sizes[: len(early)] = early
        blocks: list[int] = []
        segments: list[int] = []
        ends: dict[int, int] = {}
        for kind, place in self._changes():
            ours = segments if kind in (GIVEN, GIVEN_BACK) else blocks
            address = int((self.ranges if ours is segments else lives).address[place])
            at = bisect_left(ours, address)
            there = at < len(ours) and ours[at] == address
            if kind in (FREED, GIVEN_BACK):
                del ours[at : at + there]
                continue
            if not there:
                ours.insert(at, address)
            if kind == GIVEN:
                ends[address] = address + int(self.ranges.size[place])
            elif lives.event[place] >= 0:
                whole = bisect_right(segments, address) - 1
                end = ends[segments[whole]] if whole >= 0 else 0
                rest = min([end, *blocks[at + 1 : at + 2]]) - address - int(sizes[place])
                if rest > 0 and (rest <= LARGEST_SMALL or sizes[place] >= self.max_split_size):
                    sizes[place] += rest
        return sizes

    def _changes(self) -> Iterator[tuple[int, int]]:
        """What happened to whole segments and to large allocations, in order: kind and place."""
        large = np.flatnonzero(self.allocations.size > LARGEST_SMALL)
        whole = np.arange(self.first_page)
        places = [large, whole, whole, large]
        moments = [
            self.allocations.death[large], self.ranges.death[whole],
            self.ranges.birth[whole], self.allocations.birth[large],
        ]  # fmt: skip
        kinds = np.repeat(np.arange(4), [len(one) for one in places])
        order = np.lexsort((kinds, np.concatenate(moments)))
        yield from zip(kinds[order].tolist(), np.concatenate(places)[order].tolist(), strict=True)


def history_of_blocks(snapshot: Snapshot, device: int | None = None) -> HistoryOfBlocks:
    """A device's history with its blocks' sizes. Raises: ValueError, as `history` does."""
    of = history(snapshot, device)
    known = {field.name: getattr(of, field.name) for field in fields(of)}
    limit = Settings.of_snapshot(snapshot.settings).max_split_size
    return HistoryOfBlocks(**known, max_split_size=limit)
