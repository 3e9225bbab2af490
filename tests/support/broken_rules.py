"""What each rule of the allocator is for: break it, and see what a program then reserves."""

from typing import Any

from course_utils.memory.allocator.rules import (
    LARGEST_SMALL,
    ROUND_LARGE,
    SMALL_SEGMENT,
    Block,
    CachingAllocator,
    Pool,
)


class FirstFit(CachingAllocator):
    """Takes the free block with the lowest address that fits."""

    def find(self, pool: Pool, size: int) -> Block | None:
        fitting = [(address, block) for held, address, block in pool.blocks if held >= size]
        return min(fitting, key=lambda one: one[0])[1] if fitting else None


class WorstFit(CachingAllocator):
    """Takes the largest free block."""

    def find(self, pool: Pool, size: int) -> Block | None:
        largest = pool.blocks[-1][2] if pool.blocks else None
        return largest if largest is not None and largest.size >= size else None


class NoLargeBuffer(CachingAllocator):
    """Asks the driver for requests of 1 to 10 MiB one by one, rounded to 2 MiB."""

    def segment_size(self, size: int) -> int:
        return SMALL_SEGMENT if size <= LARGEST_SMALL else -(-size // ROUND_LARGE) * ROUND_LARGE


class NoCoalescing(CachingAllocator):
    """Leaves freed blocks as small as they were cut."""

    def merge(self, block: Block) -> None:
        pass


class NoSplitting(CachingAllocator):
    """Hands out whole blocks."""

    def splits(self, block: Block, size: int) -> bool:
        return False


class OnePool(CachingAllocator):
    """Cuts small and large blocks from the same segments."""

    def pool(self, size: int, stream: int, graph: Any = (0, 0)) -> Pool:
        return super().pool(LARGEST_SMALL + 1, stream, graph)


class NoCache(CachingAllocator):
    """Gives a segment back as soon as nothing in it is used."""

    def free(self, block: Block) -> None:
        super().free(block)
        if block.is_whole():
            self.release_block(block)


BROKEN: dict[str, type[CachingAllocator]] = {
    "first fit": FirstFit,
    "worst fit": WorstFit,
    "no 20 MiB buffer": NoLargeBuffer,
    "no coalescing": NoCoalescing,
    "no splitting": NoSplitting,
    "one pool": OnePool,
    "no cache": NoCache,
}
