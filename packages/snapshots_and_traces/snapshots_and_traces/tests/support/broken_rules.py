"""What each rule of the allocator is for: break it, and see what a program then reserves."""

from snapshots_and_traces.allocator.rules import (
    LARGEST_SMALL,
    ROUND_LARGE,
    SMALL_SEGMENT,
    CachingAllocator,
)


class FirstFit(CachingAllocator):
    def find(self, pool, size):
        fitting = [(address, block) for held, address, block in pool.blocks if held >= size]
        return min(fitting, key=lambda one: one[0])[1] if fitting else None


class WorstFit(CachingAllocator):
    def find(self, pool, size):
        largest = pool.blocks[-1][2] if pool.blocks else None
        return largest if largest is not None and largest.size >= size else None


class NoLargeBuffer(CachingAllocator):
    """Asks the driver for requests of 1 to 10 MiB one by one, rounded to 2 MiB."""

    def segment_size(self, size):
        return SMALL_SEGMENT if size <= LARGEST_SMALL else -(-size // ROUND_LARGE) * ROUND_LARGE


class NoCoalescing(CachingAllocator):
    def merge(self, block):
        pass


class NoSplitting(CachingAllocator):
    def splits(self, block, size):
        return False


class OnePool(CachingAllocator):
    """Cuts small and large blocks from the same segments."""

    def pool(self, size, stream, graph=(0, 0)):
        return super().pool(LARGEST_SMALL + 1, stream, graph)


class NoCache(CachingAllocator):
    def free(self, block):
        super().free(block)
        if block.is_whole():
            self.release_block(block)


BROKEN = {
    rule.__name__: rule
    for rule in (FirstFit, WorstFit, NoLargeBuffer, NoCoalescing, NoSplitting, OnePool, NoCache)
}
