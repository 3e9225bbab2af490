"""A caching allocator to hold in your head: the rules by which torch hands out GPU memory.

`cudaMalloc` is slow and waits for the device, so torch asks the driver for large *segments*, cuts
them into *blocks*, and keeps what the program frees. Each method is one rule of torch's
c10/cuda/CUDACachingAllocator.cpp (named in its docstring), so breaking a rule is overriding one.
Sizes and addresses are in bytes; `allocated` and `reserved` count as torch.cuda does.
"""

from bisect import bisect_left, insort
from typing import Any

MiB = 2**20
SMALLEST_BLOCK = 512
LARGEST_SMALL = MiB
SMALL_SEGMENT = 2 * MiB
LARGE_SEGMENT = 20 * MiB
SMALLEST_OWN_SEGMENT = 10 * MiB
ROUND_LARGE = 2 * MiB
USED, FREE = "used", "free"


class OutOfMemory(Exception):
    """The driver refused, and nothing more could be given back to it."""


class Driver:
    """Stands for cudaMalloc and cudaFree: a device of `capacity` bytes that notes every call.

    `calls` holds (name, address, bytes) in order, with torch's names for them in a snapshot.
    """

    def __init__(self, capacity: float = float("inf")) -> None:
        self.capacity, self.used = capacity, 0
        self.calls: list[tuple[str, int, int]] = []
        self._next = 2**40

    def malloc(self, size: int, name: str = "segment_alloc", address: int | None = None) -> int:
        """The address of `size` new bytes. Raises: OutOfMemory when the device is full."""
        if self.used + size > self.capacity:
            free = self.capacity - self.used
            raise OutOfMemory(f"{size} bytes wanted of the driver, {free:.0f} are free")
        if address is None:
            address = self.reserve(size)
        self.used += size
        self.calls.append((name, address, size))
        return address

    def free(self, address: int, size: int, name: str = "segment_free") -> None:
        """Takes back what `malloc` gave."""
        self.used -= size
        self.calls.append((name, address, size))

    def reserve(self, size: int) -> int:
        """An address range that nothing else has, without memory behind it."""
        address = self._next
        self._next += -(-size // ROUND_LARGE) * ROUND_LARGE
        return address


class Block:
    """A piece of a segment, used or free, between its neighbours `before` and `after`."""

    __slots__ = ("address", "after", "before", "place", "pool", "size", "state")

    def __init__(self, pool: "Pool", address: int, size: int, state: str = FREE) -> None:
        self.pool, self.address, self.size, self.state = pool, address, size, state
        self.before: Block | None = None
        self.after: Block | None = None
        self.place: Any = None  # the address range of an expandable segment

    def __lt__(self, other: "Block") -> bool:
        """Blocks of one size at one address, as a wrong trace has them, are in any order."""
        return False

    def is_whole(self) -> bool:
        """Whether it is all of its segment."""
        return self.before is None and self.after is None


class Pool:
    """The free blocks of one stream and one class of size, smallest and then lowest first.

    Rule: blocks are never shared between streams, nor between small and large requests
    (`BlockComparatorSize`, `get_pool`), nor with the private pool of a captured graph.
    """

    def __init__(self, stream: int, small: bool, graph: Any = (0, 0)) -> None:
        self.stream, self.small, self.graph = stream, small, graph
        self.blocks: list[tuple[int, int, Block]] = []

    def add(self, block: Block) -> None:
        """Lists a free block."""
        insort(self.blocks, (block.size, block.address, block))

    def remove(self, block: Block) -> None:
        """Takes a block out of the list, before it or its size changes."""
        del self.blocks[bisect_left(self.blocks, (block.size, block.address))]


class CachingAllocator:
    """Hands out blocks of cached segments. `allocated` and `reserved` are bytes, with peaks."""

    def __init__(self, driver: Driver | None = None) -> None:
        self.driver = driver or Driver()
        self.pools: dict[tuple[Any, bool, int], Any] = {}
        self.allocated = self.reserved = self.peak_allocated = self.peak_reserved = 0

    def malloc(self, size: int, stream: int = 0, graph: Any = (0, 0)) -> Block:
        """A block for `size` bytes on `stream`, from the private pool of `graph` if not (0, 0).

        Raises: OutOfMemory; ValueError for a size below 1.
        """
        if size < 1:
            raise ValueError(f"a request is of at least 1 byte, not {size}")
        rounded = self.round(size)
        pool = self.pool(rounded, stream, graph)
        block = self.find(pool, rounded)
        if block is None:
            block = self.miss(pool, rounded)
        else:
            pool.remove(block)
        if self.splits(block, rounded):
            self.split(block, rounded)
        block.state = USED
        self.allocated += block.size
        self.peak_allocated = max(self.peak_allocated, self.allocated)
        return block

    def round(self, size: int) -> int:
        """Rule: requests are rounded up to 512 bytes (`round_size`)."""
        return max(SMALLEST_BLOCK, -(-size // SMALLEST_BLOCK) * SMALLEST_BLOCK)

    def pool(self, size: int, stream: int, graph: Any = (0, 0)) -> Pool:
        """Rule: up to 1 MiB small, above large; each stream its own (`get_pool`)."""
        key = (graph, size <= LARGEST_SMALL, stream)
        if key not in self.pools:
            self.pools[key] = self.new_pool(stream, key[1], graph)
        return self.pools[key]

    def new_pool(self, stream: int, small: bool, graph: Any) -> Pool:
        """An empty pool."""
        return Pool(stream, small, graph)

    def find(self, pool: Pool, size: int) -> Block | None:
        """Rule: the smallest free block that fits, the lowest of equals (`get_free_block`)."""
        i = bisect_left(pool.blocks, (size,))
        return pool.blocks[i][2] if i < len(pool.blocks) else None

    def segment_size(self, size: int) -> int:
        """Rule: what a miss asks the driver for, in bytes (`get_allocation_size`)."""
        if size <= LARGEST_SMALL:
            return SMALL_SEGMENT
        if size < SMALLEST_OWN_SEGMENT:
            return LARGE_SEGMENT
        return -(-size // ROUND_LARGE) * ROUND_LARGE

    def splits(self, block: Block, size: int) -> bool:
        """Rule: when the rest of a block is kept apart (`should_split`)."""
        rest = block.size - size
        return rest >= SMALLEST_BLOCK if block.pool.small else rest > LARGEST_SMALL

    def split(self, block: Block, size: int) -> None:
        """Rule: the low end is handed out, the rest stays free (`alloc_found_block`)."""
        rest = Block(block.pool, block.address + size, block.size - size)
        rest.place = block.place
        rest.before, rest.after, block.after = block, block.after, rest
        if rest.after is not None:
            rest.after.before = rest
        block.size = size
        block.pool.add(rest)

    def free(self, block: Block) -> None:
        """Rule: a freed block merges with its free neighbours (`free_block`).

        Raises: ValueError for a block that isn't in use.
        """
        if block.state != USED:
            raise ValueError(f"the block at {block.address:#x} is {block.state}: freed twice?")
        self.allocated -= block.size
        block.state = FREE
        self.merge(block)
        block.pool.add(block)

    def merge(self, block: Block) -> None:
        """Joins a block with neighbours in the same state (`try_merge_blocks`)."""
        before, after = block.before, block.after
        if before is not None and before.state == block.state:
            self.forget(before)
            block.address, block.size = before.address, block.size + before.size
            block.before = before.before
            if block.before is not None:
                block.before.after = block
        if after is not None and after.state == block.state:
            self.forget(after)
            block.size += after.size
            block.after = after.after
            if block.after is not None:
                block.after.before = block

    def forget(self, block: Block) -> None:
        """Takes a block that is about to be merged out of its list."""
        block.pool.remove(block)

    def miss(self, pool: Pool, size: int) -> Block:
        """Rule: a new segment; if refused, empty the cache and try again (`alloc_block`)."""
        try:
            return self.new_segment(pool, size)
        except OutOfMemory:
            self.empty_cache()
            return self.new_segment(pool, size)

    def new_segment(self, pool: Pool, size: int) -> Block:
        """One call to the driver. Raises: OutOfMemory."""
        wanted = self.segment_size(size)
        block = Block(pool, self.driver.malloc(wanted), wanted)
        self.grew(wanted)
        return block

    def grew(self, size: int) -> None:
        """Counts what the driver gave."""
        self.reserved += size
        self.peak_reserved = max(self.peak_reserved, self.reserved)

    def empty_cache(self, graph: Any = (0, 0)) -> None:
        """Rule: segments without a used block go back, large before small; others never do.

        Private pools keep theirs until their graph is gone, and then give back small ones first
        (`release_cached_blocks`).
        """
        for small in (False, True) if graph == (0, 0) else (True, False):
            for key in sorted(key for key in self.pools if key[:2] == (graph, small)):
                self.release(self.pools[key])

    def release(self, pool: Pool) -> None:
        """Gives the whole segments of one pool back, smallest first (`release_blocks`)."""
        for _, _, block in pool.blocks[:]:
            if block.is_whole():
                self.release_block(block)

    def release_block(self, block: Block) -> None:
        """Gives one segment back to the driver (`release_block`)."""
        block.pool.remove(block)
        self.driver.free(block.address, block.size)
        self.reserved -= block.size
