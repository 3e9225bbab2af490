"""The caching allocator with a reader's functions for three of its rules, scored call by call.

What a reader doesn't give is as it stands here.
"""

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

from snapshots_and_traces.allocator.rules import (
    FREE,
    LARGEST_SMALL,
    USED,
    Block,
    CachingAllocator,
    Driver,
    Pool,
)
from snapshots_and_traces.replay.what_if import Program

FreeBlocks = list[tuple[int, int]]
Blocks = list[tuple[int, int, bool]]
RULES = CachingAllocator()


def sizes(request: int) -> tuple[int, int]:
    """Bytes that are looked for, and that a miss asks the driver for."""
    block = RULES.round(request)
    return block, RULES.segment_size(block)


def find_and_split(free: FreeBlocks, size: int) -> tuple[int, int] | None:
    """Which of the free blocks (address, size) of the right stream and pool is used, how much of
    it; they are in any order."""
    fitting = [(held, address) for address, held in free if held >= size]
    if not fitting:
        return None
    held, address = min(fitting)
    pool = Pool(0, small=size <= LARGEST_SMALL)
    return address, size if RULES.splits(Block(pool, address, held), size) else held


def free_and_merge(segment: Blocks, address: int) -> Blocks:
    """The blocks (address, size, used) of a segment, lowest first, once that at `address` is free.

    Before, no two free ones lie side by side.
    """
    merged: Blocks = []
    for at, size, used in segment:
        free = not used or at == address
        if free and merged and not merged[-1][2]:
            merged[-1] = (merged[-1][0], merged[-1][1] + size, False)
        else:
            merged.append((at, size, not free))
    return merged


class Assembled(CachingAllocator):
    """Torch's allocator, except that these functions decide.

    An answer that no allocator could act on raises whatever comes of it.
    """

    def __init__(
        self,
        driver: Driver | None = None,
        sizes: Callable[[int], Any] = sizes,
        find_and_split: Callable[[FreeBlocks, int], Any] = find_and_split,
        free_and_merge: Callable[[Blocks, int], Any] = free_and_merge,
    ) -> None:
        super().__init__(driver)
        self.sizes, self.find_and_split, self.free_and_merge = sizes, find_and_split, free_and_merge

    def round(self, size: int) -> int:
        block, _ = self.sizes(size)
        return int(block)

    def segment_size(self, size: int) -> int:
        _, segment = self.sizes(size)
        return int(segment)

    def find(self, pool: Pool, size: int) -> Block | None:
        free = {block.address: block for _, _, block in pool.blocks}
        chosen = self.find_and_split([(at, free[at].size) for at in sorted(free)], size)
        return None if chosen is None else free[int(chosen[0])]

    def splits(self, block: Block, size: int) -> bool:
        _, taken = self.find_and_split([(block.address, block.size)], size)
        return bool(taken < block.size)

    def merge(self, block: Block) -> None:
        """Keeps those neighbours apart that the reader's segment doesn't join to the block."""
        after = self.free_and_merge(_segment_of(block), block.address)
        begin, size = next((at, n) for at, n, _ in after if at <= block.address < at + n)
        for other in filter(None, (block.before, block.after)):
            joins = begin <= other.address < begin + size
            if joins and other.state == USED:
                raise ValueError(f"the block at {other.address} is in use")
            if not joins and other.state == FREE:
                other.state = "apart"
        super().merge(block)
        for other in filter(None, (block.before, block.after)):
            if other.state == "apart":
                other.state = FREE


def _segment_of(block: Block) -> Blocks:
    """All blocks of a block's segment, lowest first; the block itself as if it were in use."""
    one: Block | None = block
    while one is not None and one.before is not None:
        one = one.before
    found = []
    while one is not None:
        found.append((one.address, one.size, one.state == USED or one is block))
        one = one.after
    return found


def score(program: Program, **functions: Any) -> tuple[int, int]:
    """Of a program's requests, how many `Assembled(**functions)` answers as torch; and all of them.

    An answer is the block's bytes, and those of the segments asked of the driver.
    """
    real, own = (
        list(_answers(program, make(driver=_far_apart(), **given)))
        for make, given in ((CachingAllocator, {}), (Assembled, functions))
    )
    return sum(one == other for one, other in zip(real, own, strict=True)), len(real)


def _far_apart() -> Driver:
    """A driver whose n-th segment begins at n · 2^36, so that one wrong size moves no other."""
    return Driver(places=count(2**36, 2**36))


def _answers(program: Program, allocator: CachingAllocator) -> Iterator[list[int]]:
    live: dict[int, Block] = {}
    for step in program.steps:
        if step.action == "alloc":
            made = len(allocator.driver.calls)
            block = live[step.key] = allocator.malloc(step.size, step.stream, step.pool)
            yield [block.size, *(size for _, _, size in allocator.driver.calls[made:])]
        elif step.action == "free":
            allocator.free(live.pop(step.key))
        else:
            allocator.empty_cache()
