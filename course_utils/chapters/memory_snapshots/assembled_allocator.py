"""The allocator put together from three functions that a reader writes, scored call by call.

What a reader doesn't give is as it stands here.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, NamedTuple

from snapshots_and_traces.allocator.rules import LARGEST_SMALL, CachingAllocator, Driver, Pool
from snapshots_and_traces.allocator.rules import Block as RealBlock
from snapshots_and_traces.replay.what_if import Program

FreeBlocks = list[tuple[int, int]]
Blocks = list[tuple[int, int, bool]]
RULES = CachingAllocator()


class Impossible(Exception):
    """An answer that no allocator could act on, in words for who wrote it."""


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
    return address, size if RULES.splits(RealBlock(pool, address, held), size) else held


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


def apart() -> Driver:
    """A driver whose n-th segment begins at n · 2^36, so that one wrong size moves no other."""
    return Driver(places=count(2**36, 2**36))


@dataclass
class Segment:
    """What the driver gave at once, for a small or large pool, a stream and a graph."""

    pool: tuple[bool, int, Any]
    blocks: Blocks


class Block(NamedTuple):
    """A block that was handed out."""

    address: int
    size: int
    segment: Segment


class Assembled:
    """An allocator that decides by these functions; segments and calls to the driver are its own.

    Its methods raise Impossible.
    """

    def __init__(
        self,
        sizes: Callable[[int], tuple[int, int]] = sizes,
        find_and_split: Callable[[FreeBlocks, int], tuple[int, int] | None] = find_and_split,
        free_and_merge: Callable[[Blocks, int], Sequence[Any]] = free_and_merge,
        driver: Driver | None = None,
    ) -> None:
        self.sizes, self.find_and_split, self.free_and_merge = sizes, find_and_split, free_and_merge
        self.driver = driver or apart()
        self.segments: list[Segment] = []

    def malloc(self, request: int, stream: int = 0, graph: Any = (0, 0)) -> Block:
        """A block of the stream's pool, or of a new segment."""
        size, wanted = _pair(self.sizes(request), f"sizes({request})", "(block, segment)")
        if size < request:
            raise Impossible(f"sizes({request}) gives a block of {size} bytes: too small")
        pool = (size <= LARGEST_SMALL, stream, graph)
        return self._taken([s for s in self.segments if s.pool == pool], size) or self._new(
            pool, request, size, wanted
        )

    def _new(self, pool: tuple[bool, int, Any], request: int, size: int, wanted: int) -> Block:
        if wanted < size:
            raise Impossible(f"sizes({request}) gives a segment of {wanted} bytes: too small")
        self.segments.append(Segment(pool, [(self.driver.malloc(wanted), wanted, False)]))
        return self._taken(self.segments[-1:], size) or self._cut(self.segments[-1], 0, size)

    def _taken(self, segments: list[Segment], size: int) -> Block | None:
        """The reader's choice among the free blocks of these segments."""
        free = {
            address: (segment, place, held)
            for segment in segments
            for place, (address, held, used) in enumerate(segment.blocks)
            if not used
        }
        answer = self.find_and_split([(at, free[at][2]) for at in sorted(free)], size)
        if answer is None:
            return None
        address, taken = _pair(answer, "find_and_split", "(address, taken) or None")
        if address not in free:
            raise Impossible(f"find_and_split gives address {address}, where no free block begins")
        segment, place, held = free[address]
        if not size <= taken <= held:
            raise Impossible(f"find_and_split takes {taken} of {held} bytes, for {size}")
        return self._cut(segment, place, taken)

    def _cut(self, segment: Segment, place: int, taken: int) -> Block:
        address, held, _ = segment.blocks[place]
        rest = [(address + taken, held - taken, False)] if taken < held else []
        segment.blocks[place : place + 1] = [(address, taken, True), *rest]
        return Block(address, taken, segment)

    def free(self, block: Block) -> None:
        """Frees a block that was handed out."""
        before = block.segment.blocks
        after = self.free_and_merge(list(before), block.address)
        block.segment.blocks = _checked(before, [tuple(one) for one in after], block.address)

    def empty_cache(self) -> None:
        """Gives segments without a used block back, but not those of graphs."""
        for segment in self.segments[:]:
            (address, size, used), *others = segment.blocks
            if not (used or others) and segment.pool[2] == (0, 0):
                self.segments.remove(segment)
                self.driver.free(address, size)


def _checked(before: Blocks, after: list[Any], freed: int) -> Blocks:
    """A segment's blocks after the one at `freed` was freed, if they can be. Raises: Impossible."""
    text = f"free_and_merge, for the block at {freed},"
    if not all(len(one) == 3 for one in after):
        raise Impossible(f"{text} gives {after!r:.80}, want (address, size, used) for each block")
    at = before[0][0]
    for address, size, _ in after:
        if address != at:
            raise Impossible(f"{text} leaves a gap or an overlap: {address} follows {at}")
        at = address + size
    if at != before[-1][0] + before[-1][1]:
        raise Impossible(f"{text} gives a segment of another size")
    kept = {(address, size) for address, size, used in after if used}
    lost = [a for a, size, used in before if used and a != freed and (a, size) not in kept]
    if lost:
        raise Impossible(f"{text} frees the block at {lost[0]} too, which is in use")
    if any(address <= freed < address + size for address, size in kept):
        raise Impossible(f"{text} leaves it in use")
    return [(int(address), int(size), bool(used)) for address, size, used in after]


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


def _answers(program: Program, allocator: Any) -> Iterator[tuple[int, ...]]:
    """For each request the block's address, its bytes, and those of the segments asked for."""
    live: dict[int, Any] = {}
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
