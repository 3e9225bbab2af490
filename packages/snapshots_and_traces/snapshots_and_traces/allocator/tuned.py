"""The allocator with all `Settings` but expandable segments.

Rules of torch's c10/cuda/CUDACachingAllocator.cpp, torch 2.13.
"""

from bisect import bisect_left
from typing import Any

from snapshots_and_traces.allocator.rules import (
    LARGEST_SMALL,
    SMALLEST_BLOCK,
    SMALLEST_OWN_SEGMENT,
    Block,
    CachingAllocator,
    Driver,
    OutOfMemory,
)
from snapshots_and_traces.allocator.settings import INTERVALS, Settings


class TunedAllocator(CachingAllocator):
    """`CachingAllocator` with `Settings`."""

    def __init__(self, driver: Driver | None = None, settings: Settings | None = None) -> None:
        super().__init__(driver)
        self.settings = settings or Settings()

    def round(self, size: int) -> int:
        """Rule: with divisions d > 1, sizes over 512·d go up to a multiple of 2^⌊log₂ size⌋/d.

        Powers of two stay (`roundup_power2_next_division`).
        """
        interval = min(max(size.bit_length() - 21, 0), INTERVALS - 1)
        divisions = self.settings.roundup_power2_divisions[interval]
        if divisions <= 1 or size <= SMALLEST_BLOCK * divisions:
            return super().round(size)
        if size & (size - 1) == 0:
            return size
        floor = 1 << (size.bit_length() - 1)
        step = floor >> (divisions.bit_length() - 1)
        return -(-size // step) * step if step else 2 * floor

    def segment_size(self, size: int) -> int:
        """Rule: `large_segment_size_mb` is what requests of 1 to 10 MiB share."""
        if LARGEST_SMALL < size < SMALLEST_OWN_SEGMENT:
            return self.settings.large_segment
        return super().segment_size(size)

    def find(self, pool: Any, size: int) -> Block | None:
        """The best fit, unless `max_split_size` keeps it for others."""
        block = super().find(pool, size)
        return block if block is not None and self.may_take(block, size) else None

    def may_take(self, block: Block, size: int) -> bool:
        """Rule: a small request never takes an oversize block; a large one only a close fit."""
        most = self.settings.max_split_size
        if size < most:
            return block.size < most
        return block.size < size + self.settings.max_non_split_rounding

    def splits(self, block: Block, size: int) -> bool:
        """Rule: in the large pool, requests of `max_split_size` and more take whole blocks."""
        unsplit = not block.pool.small and size >= self.settings.max_split_size
        return not unsplit and super().splits(block, size)

    def miss(self, pool: Any, size: int) -> Block:
        """Rule: ask; free oversize blocks, ask; empty the cache, ask."""
        try:
            return self.new_segment(pool, size)
        except OutOfMemory:
            if self.release_oversize(pool, size):
                try:
                    return self.new_segment(pool, size)
                except OutOfMemory:
                    pass
        self.empty_cache()
        return self.new_segment(pool, size)

    def release_oversize(self, pool: Any, size: int) -> bool:
        """Rule: with `max_split_size`, give back what `oversize` says, and say if that may do."""
        blocks = self.oversize(pool, size)
        for block in blocks:
            self.release_block(block)
        return sum(b.size for b in blocks) >= max(size, self.settings.max_split_size)

    def oversize(self, pool: Any, size: int) -> list[Block]:
        """One free block of at least `max_split_size` and the request, else as many as it takes
        from the largest down (`release_available_cached_blocks`).
        """
        most = self.settings.max_split_size
        wanted = max(size, most)
        chosen: list[Block] = []
        i = bisect_left(pool.blocks, (wanted,))
        if (
            i < len(pool.blocks)
            and pool.blocks[i][2].place is None
            and pool.blocks[i][2].is_whole()
        ):
            return [pool.blocks[i][2]]
        for held, _, block in reversed(pool.blocks[:i]):
            if sum(b.size for b in chosen) >= wanted or held < most:
                break
            if block.place is None and block.is_whole():
                chosen.append(block)
        return chosen
