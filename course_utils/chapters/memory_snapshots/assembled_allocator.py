"""The allocator put together from three functions that a reader writes, scored call by call.

* `sizes(request) -> (block, segment)`: bytes that are looked for, and that a miss asks the driver
  for.
* `find_and_split(free, size) -> (address, taken) or None`: from free blocks `(address, size)` of
  the right stream and pool, in any order, which one is used, and how much of it.
* `free_and_merge(segment, address) -> segment`: the blocks `(address, size, used)` of a segment,
  lowest first, after the one at `address` was freed.

What isn't given is that of `CachingAllocator`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from course_utils.memory.allocator.rules import USED, Block, CachingAllocator, Driver, Pool
from course_utils.memory.what_if import Program

Sizes = Callable[[int], tuple[int, int]]
FindAndSplit = Callable[[list[tuple[int, int]], int], tuple[int, int] | None]
FreeAndMerge = Callable[[list[tuple[int, int, bool]], int], Sequence[tuple[int, int, bool]]]


class Impossible(Exception):
    """An answer that no allocator could act on, in words for who wrote it."""


def apart() -> Driver:
    """A driver whose n-th segment begins at n · 2^36, so that one wrong size moves no other."""
    return Driver(places=count(2**36, 2**36))


class Assembled(CachingAllocator):
    """`CachingAllocator` with the reader's functions in place of its rules."""

    def __init__(
        self,
        sizes: Sizes | None = None,
        find_and_split: FindAndSplit | None = None,
        free_and_merge: FreeAndMerge | None = None,
        driver: Driver | None = None,
    ) -> None:
        super().__init__(driver or apart())
        self.sizes, self.find_and_split = sizes, find_and_split
        self.free_and_merge = free_and_merge
        self.request = self.taken = 0

    def round(self, size: int) -> int:
        """The reader's block size."""
        self.request = size
        if self.sizes is None:
            return super().round(size)
        block, _ = _pair(self.sizes(size), f"sizes({size})", "(block, segment)")
        if block < size:
            raise Impossible(f"sizes({size}) gives a block of {block} bytes: too small")
        return block

    def segment_size(self, size: int) -> int:
        """The reader's segment size."""
        if self.sizes is None:
            return super().segment_size(size)
        _, segment = _pair(self.sizes(self.request), f"sizes({self.request})", "(block, segment)")
        if segment < size:
            raise Impossible(f"sizes({self.request}) gives a segment of {segment} bytes: too small")
        return segment

    def find(self, pool: Pool, size: int) -> Block | None:
        """The reader's choice among the free blocks, by address."""
        if self.find_and_split is None:
            return super().find(pool, size)
        return self._choose(sorted((a, s, block) for s, a, block in pool.blocks), size)

    def miss(self, pool: Pool, size: int) -> Block:
        """Gets a new segment, of which the reader's function says how much is used."""
        block = super().miss(pool, size)
        if self.find_and_split is not None:
            self._choose([(block.address, block.size, block)], size)
        return block

    def _choose(self, free: list[tuple[int, int, Block]], size: int) -> Block | None:
        assert self.find_and_split is not None
        self.taken = size
        blocks = {address: block for address, _, block in free}
        answer = self.find_and_split([(address, held) for address, held, _ in free], size)
        if answer is None:
            return None
        address, taken = _pair(answer, "find_and_split", "(address, taken) or None")
        if address not in blocks:
            raise Impossible(f"find_and_split gives address {address}, where no free block begins")
        if not size <= taken <= blocks[address].size:
            held = blocks[address].size
            raise Impossible(f"find_and_split takes {taken} of {held} bytes, for {size}")
        self.taken = taken
        return blocks[address]

    def splits(self, block: Block, size: int) -> bool:
        """Whether the reader's function left a rest."""
        if self.find_and_split is None:
            return super().splits(block, size)
        return self.taken < block.size

    def split(self, block: Block, size: int) -> None:
        """Cuts the block where the reader's function did."""
        super().split(block, size if self.find_and_split is None else self.taken)

    def merge(self, block: Block) -> None:
        """Joins the block with the neighbours that the reader's list has joined to it."""
        if self.free_and_merge is None:
            super().merge(block)
            return
        before = [(b.address, b.size, b.state == USED or b is block) for b in _segment(block)]
        after = [tuple(one) for one in self.free_and_merge(list(before), block.address)]
        start, end = _freed(before, after, block)
        kept = [b for b in (block.before, block.after) if b is not None]
        for neighbour in kept:
            if not start <= neighbour.address < end and neighbour.state != USED:
                neighbour.state = "kept apart"
        super().merge(block)
        for neighbour in kept:
            if neighbour.state == "kept apart":
                neighbour.state = block.state


def _segment(block: Block) -> list[Block]:
    while block.before is not None:
        block = block.before
    blocks = [block]
    while blocks[-1].after is not None:
        blocks.append(blocks[-1].after)
    return blocks


def _freed(before: list[tuple[int, int, bool]], after: list[Any], block: Block) -> tuple[int, int]:
    """Begin and end of the free block that holds the freed one. Raises: Impossible."""
    text = f"free_and_merge, for the block at {block.address},"
    if not all(len(one) == 3 for one in after):
        raise Impossible(f"{text} gives {after!r:.80}, want (address, size, used) for each block")
    at = before[0][0]
    for address, size, _ in after:
        if address != at:
            raise Impossible(f"{text} leaves a gap or an overlap: {address} follows {at}")
        at = address + size
    if at != before[-1][0] + before[-1][1]:
        raise Impossible(f"{text} gives a segment of another size")
    holds = [(a, a + s) for a, s, used in after if not used and a <= block.address < a + s]
    if not holds:
        raise Impossible(f"{text} leaves it in use")
    start, end = holds[0]
    lost = [a for a, _, used in before if used and start <= a < end and a != block.address]
    if lost:
        raise Impossible(f"{text} frees the block at {lost[0]} too, which is in use")
    return start, end


def _pair(answer: Any, name: str, wanted: str) -> tuple[int, int]:
    if not (isinstance(answer, tuple | list) and len(answer) == 2):
        raise Impossible(f"{name} gives {answer!r:.60}, want {wanted}")
    return int(answer[0]), int(answer[1])


@dataclass(frozen=True)
class Score:
    """`same` of `total` requests were answered as by the real allocator: as many bytes, after the
    same calls to the driver.

    `first` describes the first answer that differs in this or in its address; else it is "".
    """

    same: int
    total: int
    first: str = ""


def score(program: Program, **functions: Any) -> Score:
    """A program through the real rules and through `Assembled(**functions)`, request by request.

    Raises: Impossible.
    """
    requests = [step.size for step in program.steps if step.action == "alloc"]
    real = _answers(program, CachingAllocator(apart()))
    pairs = list(zip(real, _answers(program, Assembled(**functions)), strict=True))
    differ = (
        f"request {n}, {size:,} bytes: {_words(*own)}, want {_words(*want)}"
        for n, (size, (want, own)) in enumerate(zip(requests, pairs, strict=True), 1)
        if want != own
    )
    same = sum(want[1:] == own[1:] for want, own in pairs)
    return Score(same, len(requests), next(differ, ""))


def _answers(program: Program, allocator: CachingAllocator) -> Iterator[tuple[int, ...]]:
    """For each request the block's address, its bytes, and those of the segments asked for."""
    live: dict[int, Block] = {}
    for step in program.steps:
        if step.action == "alloc":
            made = len(allocator.driver.calls)
            block = live[step.key] = allocator.malloc(step.size, step.stream, step.pool)
            asked = (size for _, _, size in allocator.driver.calls[made:])
            yield block.address, block.size, *asked
        elif step.action == "free":
            allocator.free(live.pop(step.key))
        else:
            allocator.empty_cache()


def _words(address: int, n_bytes: int, *segments: int) -> str:
    segment, place = divmod(address, 2**36)
    new = "".join(f", new with {size:,} bytes" for size in segments)
    return f"{n_bytes:,} bytes at byte {place:,} of segment {segment}{new}"
