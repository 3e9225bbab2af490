"""Expandable segments: one address range a stream and pool, with memory mapped where needed.

Rules of torch's c10/cuda/CUDACachingAllocator.cpp, note [Expandable Segments], torch 2.13.
"""

from bisect import bisect_left, insort
from typing import Any, NamedTuple

from snapshots_and_traces.allocator.rules import (
    FREE,
    SMALL_SEGMENT,
    SMALLEST_BLOCK,
    USED,
    Block,
    Driver,
    Pool,
)
from snapshots_and_traces.allocator.settings import Settings
from snapshots_and_traces.allocator.tuned import TunedAllocator

UNMAPPED = "unmapped"
RANGE = 2**40  # bytes of address space; torch takes 9/8 of the device's memory


class Place(NamedTuple):
    """An address range: where it begins and the bytes of a page, the least that is mapped."""

    address: int
    page: int

    def floor(self, address: int) -> int:
        """The last page boundary up to `address`."""
        return address - (address - self.address) % self.page

    def ceil(self, address: int) -> int:
        """The first page boundary from `address` on."""
        return address + (self.address - address) % self.page


class MappedPool(Pool):
    """A pool that also lists its unmapped blocks, lowest address first."""

    def __init__(self, stream: int, small: bool, graph: Any) -> None:
        super().__init__(stream, small, graph)
        self.unmapped: list[tuple[int, Block]] = []

    def add_unmapped(self, block: Block) -> None:
        """Lists an unmapped block."""
        insort(self.unmapped, (block.address, block))

    def remove_unmapped(self, block: Block) -> None:
        """Takes it out of the list, before it or its address changes."""
        del self.unmapped[bisect_left(self.unmapped, (block.address,))]


class ExpandableAllocator(TunedAllocator):
    """`TunedAllocator` that maps pages where `settings.expandable_segments` is on."""

    def __init__(self, driver: Driver | None = None, settings: Settings | None = None) -> None:
        super().__init__(driver, settings)
        self.expandable = self.settings.expandable_segments

    def new_pool(self, stream: int, small: bool, graph: Any) -> Pool:
        """A pool that lists its unmapped blocks too."""
        return MappedPool(stream, small, graph)

    def find(self, pool: Any, size: int) -> Block | None:
        """Rule: best fit, where a block before unmapped addresses counts with them, so that the
        end of the range is used last (`get_free_block`).
        """
        blocks = pool.blocks
        i = bisect_left(blocks, (size,))
        if i == len(blocks):
            return None
        if blocks[i][2].place is not None:
            i = self._past_growing(blocks, i) if self.expandable else _past_expandable(blocks, i)
            if i == len(blocks):
                return None
        block = blocks[i][2]
        return block if self.may_take(block, size) else None

    def _past_growing(self, blocks: list[tuple[int, int, Block]], i: int) -> int:
        while (
            blocks[i][2].place is not None
            and i + 1 < len(blocks)
            and _room(blocks[i + 1][2]) < _room(blocks[i][2])
        ):
            i += 1
        return i

    def splits(self, block: Block, size: int) -> bool:
        """Rule: with expandable segments, rests of 512 bytes are kept in both pools."""
        if self.expandable:
            return block.size - size >= SMALLEST_BLOCK
        return super().splits(block, size)

    def new_segment(self, pool: Any, size: int) -> Block:
        """Rule: map pages at the lowest address with room for `size`, which may begin with a free
        block (`try_allocate_expandable_block`). Raises: OutOfMemory.
        """
        if not self.expandable:
            return super().new_segment(pool, size)
        block = self.lowest_room(pool, size)
        if block.state == UNMAPPED:
            self.map(block, min(block.size, size))
        while block.size < size and block.after is not None:
            grown = block.after
            self.map(grown, min(size - block.size, grown.size))
            block = grown
        pool.remove(block)
        return block

    def lowest_room(self, pool: Any, size: int) -> Block:
        """The first block of free and unmapped ones with `size` bytes together
        (`find_expandable_block`), in a new address range if there are none.
        """
        for _, block in pool.unmapped:
            first = block.before if block.before and block.before.state == FREE else block
            if _has_room(first, size):
                return first
        return self.new_place(pool, self.driver.reserve(RANGE))

    def new_place(self, pool: Any, address: int) -> Block:
        """An address range as one unmapped block."""
        block = Block(pool, address, RANGE, UNMAPPED)
        block.place = Place(address, SMALL_SEGMENT if pool.small else self.settings.large_segment)
        pool.add_unmapped(block)
        return block

    def map(self, block: Block, size: int) -> None:
        """Puts memory behind the first `size` bytes, in whole pages (`map_block`)."""
        size = block.place.ceil(block.address + size) - block.address
        self.driver.malloc(size, "segment_map", block.address)
        self.grew(size)
        pool: Any = block.pool
        pool.remove_unmapped(block)
        if size < block.size:
            pool.add_unmapped(_cut(block, size))
        block.state = FREE
        self.merge(block)
        pool.add(block)

    def forget(self, block: Block) -> None:
        """Takes a block that is about to be merged out of its list, free or unmapped."""
        if block.state == UNMAPPED:
            pool: Any = block.pool
            pool.remove_unmapped(block)
        else:
            super().forget(block)

    def release(self, pool: Any) -> None:
        """Rule: whole segments go, and of expandable ones every page without a used byte."""
        expandable = [block for _, _, block in pool.blocks if block.place is not None]
        for _, _, block in pool.blocks[:]:
            if block.place is None and block.is_whole():
                self.release_block(block)
        for block in expandable:
            self.unmap(block)

    def unmap(self, block: Block) -> None:
        """Gives the whole pages of a free block back (`unmap_block`); an address range with
        nothing mapped goes too.
        """
        place = block.place
        pool: Any = block.pool
        begin, end = place.ceil(block.address), place.floor(block.address + block.size)
        if begin >= end:
            return
        pool.remove(block)
        if begin > block.address:
            rest = _cut(block, begin - block.address)
            pool.add(block)
            block = rest
        if end < block.address + block.size:
            pool.add(_cut(block, end - block.address))
        block.state = UNMAPPED
        self.merge(block)
        pool.add_unmapped(block)
        self.driver.free(begin, end - begin, "segment_unmap")
        self.reserved -= end - begin
        if block.is_whole():
            pool.remove_unmapped(block)


def _past_expandable(blocks: list[tuple[int, int, Block]], i: int) -> int:
    while i < len(blocks) and blocks[i][2].place is not None:
        i += 1
    return i


def _room(block: Block) -> int:
    """The size of a block with the unmapped addresses right after it."""
    after = block.after
    return block.size + (after.size if after is not None and after.state == UNMAPPED else 0)


def _has_room(block: Block | None, size: int) -> bool:
    room = 0
    while room < size and block is not None and block.state != USED:
        room += block.size
        block = block.after
    return room >= size


def _cut(block: Block, size: int) -> Block:
    """Shortens a block to `size`; the rest is a new block in the same state, in no list."""
    rest = Block(block.pool, block.address + size, block.size - size, block.state)
    rest.place, rest.before, rest.after = block.place, block, block.after
    if rest.after is not None:
        rest.after.before = rest
    block.size, block.after = size, rest
    return rest
