"""How many bytes each allocation's block has: a trace says what was requested, not what was cut.

A large request may get more than its rounded size: what the allocator's rule wouldn't split off.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from snapshots_and_traces.allocator import rules
from snapshots_and_traces.allocator.settings import Settings
from snapshots_and_traces.allocator.tuned import TunedAllocator
from snapshots_and_traces.snapshots.addresses import Addresses

if TYPE_CHECKING:
    from snapshots_and_traces.snapshots.lives import Lives

GOES, COMES = 0, 1  # in order, of two at a moment


def block_sizes(
    settings: Settings, known: list[int], lives: "Lives", segments: "Lives"
) -> list[int]:
    """Bytes of the block of each allocation, in the order of `lives`; those of the first are known.

    `segments` are those that aren't expandable: in the others every rest is split off. Within a
    segment free blocks merge, so a block was cut from all the room up to the next live one, and
    has all of it where the rule says that the rest isn't split off (`should_split`).
    """
    allocator = TunedAllocator(settings=settings)
    different, which = np.unique(lives.size, return_inverse=True)
    sizes = np.array([allocator.round(size) for size in different.tolist()], np.int64)[which]
    sizes[: len(known)] = known
    found: list[int] = sizes.tolist()
    pool = rules.Pool(0, small=False)
    for place, room in _rooms(lives, np.flatnonzero(sizes > rules.LARGEST_SMALL), segments):
        block = rules.Block(pool, 0, room)
        if place >= len(known) and not allocator.splits(block, found[place]):
            found[place] = max(room, found[place])
    return found


def _rooms(lives: "Lives", large: np.ndarray, segments: "Lives") -> Iterator[tuple[int, int]]:
    """The large allocations within segments, by place, each with the bytes to the next live one."""
    ends: dict[int, int] = {}  # of the segments there are
    starts, live = Addresses(), Addresses()
    there: set[int] = set()
    for is_life, comes, place in _in_order(segments, lives, large):
        if is_life:
            address = int(lives.address[place])
            if not comes:
                if address in there:
                    there.remove(address)
                    live.remove(address)
                continue
            start, following = starts.up_to(address), live.after(address)
            if start is not None and address < ends[start]:
                yield place, min(ends[start], following or ends[start]) - address
            if address not in there:
                there.add(address)
                live.add(address)
        else:
            address = int(segments.address[place])
            if address in ends:
                del ends[address]
                starts.remove(address)
            if comes:
                ends[address] = address + int(segments.size[place])
                starts.add(address)


def _in_order(
    segments: "Lives", lives: "Lives", large: np.ndarray
) -> Iterator[tuple[bool, bool, int]]:
    """What comes and goes, as it does: whether it is an allocation, whether it comes, its place."""
    ranges = np.arange(len(segments))
    parts = [
        (segments.birth, 0, COMES, ranges), (segments.death, 0, GOES, ranges),
        (lives.birth[large], 1, COMES, large), (lives.death[large], 1, GOES, large),
    ]  # fmt: skip
    moment = np.concatenate([at for at, *_ in parts])
    is_life, comes = (
        np.concatenate([np.full(len(part[0]), part[k]) for part in parts]) for k in (1, 2)
    )
    place = np.concatenate([which for *_, which in parts])
    order = np.lexsort((is_life, comes, moment))
    columns = (is_life[order] == 1, comes[order] == COMES, place[order])
    return zip(*(column.tolist() for column in columns), strict=True)
