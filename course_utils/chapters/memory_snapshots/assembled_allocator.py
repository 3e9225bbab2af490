"""The caching allocator with a reader's search for a block, scored call by call."""

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

from snapshots_and_traces.allocator.rules import (
    LARGEST_SMALL,
    Block,
    CachingAllocator,
    Driver,
    Pool,
)
from snapshots_and_traces.replay.what_if import Program

FreeBlocks = list[tuple[int, int]]
RULES = CachingAllocator()


def find_and_split(free: FreeBlocks, size: int) -> tuple[int, int] | None:
    """Returns the address of the block that is used and the bytes of it that are handed out.

    `free` are the free blocks (address, size) of the right stream and pool, in any order. None
    where none fits.
    """
    fitting = [(held, address) for address, held in free if held >= size]
    if not fitting:
        return None
    held, address = min(fitting)
    pool = Pool(0, small=size <= LARGEST_SMALL)
    return address, size if RULES.splits(Block(pool, address, held), size) else held


class Assembled(CachingAllocator):
    """Torch's allocator, except that this function finds and splits blocks.

    An answer that no allocator could act on raises whatever comes of it.
    """

    def __init__(
        self,
        driver: Driver | None = None,
        find_and_split: Callable[[FreeBlocks, int], Any] = find_and_split,
    ) -> None:
        super().__init__(driver)
        self.find_and_split = find_and_split

    def find(self, pool: Pool, size: int) -> Block | None:
        free = {block.address: block for _, _, block in pool.blocks}
        chosen = self.find_and_split([(at, free[at].size) for at in sorted(free)], size)
        return None if chosen is None else free[int(chosen[0])]

    def splits(self, block: Block, size: int) -> bool:
        _, taken = self.find_and_split([(block.address, block.size)], size)
        return bool(taken < block.size)


def score(program: Program, find_and_split: Callable[..., Any]) -> tuple[int, int]:
    """Returns how many of a program's requests are answered as by torch, and how many there are.

    An answer is the block's bytes, and those of the segments asked of the driver.
    """
    real = list(_answers(program, CachingAllocator(_far_apart())))
    own = list(_answers(program, Assembled(_far_apart(), find_and_split)))
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
