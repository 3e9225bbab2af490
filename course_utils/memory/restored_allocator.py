"""An allocator put into the state in which a recorded trace began."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from course_utils.memory.allocator.expandable import UNMAPPED
from course_utils.memory.allocator.rules import (
    FREE,
    LARGEST_SMALL,
    SMALL_SEGMENT,
    USED,
    Block,
    CachingAllocator,
)
from course_utils.memory.recorded_start import FAR, Call, Held, Start


def restore(allocator: Any, start: Start, calls: Sequence[Call]) -> dict[int, Block]:
    """Gives an empty `allocator` the blocks of `start`; returns those in use, by address.

    `calls` are those that follow: they show where address ranges begin.
    """
    blocks = [b for held in start.held if not held.expandable for b in _segment(allocator, held)]
    for place in _places([held for held in start.held if held.expandable]):
        blocks += _place(allocator, place, calls)
    for block in blocks:
        if block.state == FREE:
            block.pool.add(block)
    used = {block.address: block for block in blocks if block.state == USED}
    allocator.allocated = allocator.peak_allocated = sum(block.size for block in used.values())
    allocator.reserved = allocator.peak_reserved = sum(held.size for held in start.held)
    allocator.driver.used += allocator.reserved
    return used


def _pool(allocator: CachingAllocator, held: Held) -> Any:
    size = 1 if held.owner.small else LARGEST_SMALL + 1
    return allocator.pool(size, held.owner.stream, held.owner.pool)


def _segment(allocator: CachingAllocator, held: Held) -> list[Block]:
    """Its blocks, linked: those in use, and a free one wherever there is room between them."""
    pool, at, blocks = _pool(allocator, held), held.address, []
    for address, size in [*sorted(held.blocks.items()), (held.end, 0)]:
        if address > at:
            blocks.append(Block(pool, at, address - at))
        if size:
            blocks.append(Block(pool, address, size, USED))
        at = max(at, address + size)
    _link(blocks)
    return blocks


def _link(blocks: Sequence[Block]) -> None:
    for before, after in pairwise(blocks):
        before.after, after.before = after, before


def _places(ranges: Sequence[Held]) -> list[list[Held]]:
    """Mapped ranges by the address range that they are pieces of."""
    places: list[list[Held]] = []
    for held in sorted(ranges, key=lambda held: (held.owner, held.address)):
        same = places and places[-1][-1].owner == held.owner
        if same and held.address - places[-1][-1].end < FAR:
            places[-1].append(held)
        else:
            places.append([held])
    return places


def _place(allocator: Any, ranges: Sequence[Held], calls: Sequence[Call]) -> list[Block]:
    """The blocks of one address range, with unmapped ones before, between and behind."""
    pool, first = _pool(allocator, ranges[0]), ranges[0].address
    rest = allocator.new_place(pool, _lowest(first, ranges[0], calls))
    pool.remove_unmapped(rest)
    place, end, blocks = rest.place, rest.address + rest.size, []
    at = rest.address
    for held in ranges:
        if held.address > at:
            blocks.append(Block(pool, at, held.address - at, UNMAPPED))
        blocks += _segment(allocator, held)
        at = held.end
    blocks.append(Block(pool, at, end - at, UNMAPPED))
    _link(blocks)
    for block in blocks:
        block.place = place
        if block.state == UNMAPPED:
            pool.add_unmapped(block)
    return blocks


def _lowest(address: int, held: Held, calls: Sequence[Call]) -> int:
    """Where the address range begins: no later than anything mapped in it.

    One request for small blocks never maps more than a page, which tells the two pools apart.
    """
    mapped = [
        call.addr
        for call in calls
        if call.action == "segment_map"
        and call.stream == held.owner.stream
        and (call.size == SMALL_SEGMENT) == held.owner.small
        and address - FAR < call.addr < address
    ]
    return min([address, *mapped])
