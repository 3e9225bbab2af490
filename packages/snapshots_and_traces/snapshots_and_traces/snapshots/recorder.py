"""Records our allocator as torch records its own: a snapshot without a GPU.

Source of the schema: torch/csrc/cuda/Module.cpp and torch.cuda.memory._snapshot, torch 2.13.
"""

from collections.abc import Sequence
from typing import Any

from snapshots_and_traces.allocator.expandable import UNMAPPED
from snapshots_and_traces.allocator.rules import (
    SMALL_SEGMENT,
    USED,
    Block,
    CachingAllocator,
    OutOfMemory,
)
from snapshots_and_traces.allocator.settings import Settings

DEFAULT = (0, 0)


class Recorder:
    """Passes requests on to an allocator and keeps the events; sizes in bytes.

    `keep` is how many events a snapshot holds, the last ones. Every event is a microsecond after
    the one before it: there is no clock.
    """

    def __init__(self, allocator: CachingAllocator, keep: int | None = None) -> None:
        self.allocator, self.keep = allocator, keep
        self.events: list[dict[str, Any]] = []
        self._live: dict[int, tuple[Block, int, str]] = {}
        self._owners: dict[int, tuple[int, Any]] = {}
        self._seen = 0

    def malloc(
        self, size: int, stream: int = 0, pool: Any = DEFAULT, frames: Sequence[Any] = ()
    ) -> Block:
        """A block, as the allocator gives it; `frames` are dicts of name, filename and line.

        Raises: OutOfMemory, which is noted as an event.
        """
        try:
            block = self.allocator.malloc(size, stream, pool)
        except OutOfMemory:
            self._driver_calls(stream, pool)
            driver, wanted = self.allocator.driver, self.allocator.round(size)
            self._note("oom", int(driver.capacity - driver.used), wanted, stream, pool, frames)
            raise
        self._driver_calls(stream, pool)
        self._live[block.address] = (block, size, "active_allocated")
        self._note("alloc", block.address, size, stream, pool, frames)
        return block

    def request_free(self, block: Block) -> None:
        """The program lets go; after `record_stream`, other streams may still use the block."""
        size = self._live[block.address][1]
        self._live[block.address] = (block, size, "active_awaiting_free")
        self._note("free_requested", block.address, size, block.pool.stream, block.pool.graph)

    def complete_free(self, block: Block) -> None:
        """Frees a block that nobody uses any more."""
        address, (_, size, _) = block.address, self._live.pop(block.address)
        self._note("free_completed", address, size, block.pool.stream, block.pool.graph)
        self.allocator.free(block)

    def free(self, block: Block) -> None:
        """Requests and completes a free at once, as for a block that one stream used."""
        self.request_free(block)
        self.complete_free(block)

    def empty_cache(self, pool: Any = DEFAULT) -> None:
        """Empties the allocator's cache and notes what the driver gets back."""
        self.allocator.empty_cache(pool)
        self._driver_calls(0, pool)

    def snapshot(self) -> dict[str, Any]:
        """A snapshot as `torch.cuda.memory._snapshot` gives it, for one device."""
        settings = getattr(self.allocator, "settings", Settings())
        kept = self.events if self.keep is None else self.events[-self.keep :]
        return {
            "segments": self._segments(),
            "device_traces": [kept],
            "allocator_settings": settings.recorded(),
            "external_annotations": [],
        }

    def _driver_calls(self, stream: int, pool: Any) -> None:
        for action, address, size in self.allocator.driver.calls[self._seen :]:
            pages = range(address, address + size, SMALL_SEGMENT)
            if action in ("segment_alloc", "segment_map"):
                self._owners.update((page, (stream, pool)) for page in pages)
            self._note(action, address, size, *self._owners[address])
        self._seen = len(self.allocator.driver.calls)

    def _note(
        self, action: str, addr: int, size: int, stream: int, pool: Any, frames: Sequence[Any] = ()
    ) -> None:
        time_us, frames = len(self.events), list(frames)
        self.events.append(
            dict(
                action=action, addr=addr, size=size, stream=stream, pool_id=pool,
                time_us=time_us, frames=frames,
            )
        )  # fmt: skip

    def _segments(self) -> list[dict[str, Any]]:
        free = [block for pool in self.allocator.pools.values() for _, _, block in pool.blocks]
        blocks = [*free, *(block for block, _, _ in self._live.values())]
        heads = [b for b in blocks if b.before is None or b.before.state == UNMAPPED]
        return [self._segment(head) for head in sorted(heads, key=lambda head: head.address)]

    def _segment(self, head: Block) -> dict[str, Any]:
        blocks: list[dict[str, Any]] = []
        block: Block | None = head
        while block is not None and block.state != UNMAPPED:
            blocks.append(self._block(block))
            block = block.after
        return {
            "device": 0,
            "address": head.address,
            "total_size": sum(b["size"] for b in blocks),
            "allocated_size": sum(b["size"] for b in blocks if b["state"] == "active_allocated"),
            "active_size": sum(b["size"] for b in blocks if b["state"] != "inactive"),
            "requested_size": sum(b["requested_size"] for b in blocks),
            "stream": head.pool.stream,
            "segment_type": "small" if head.pool.small else "large",
            "segment_pool_id": head.pool.graph,
            "is_expandable": head.place is not None,
            "blocks": blocks,
            "frames": [],
        }

    def _block(self, block: Block) -> dict[str, Any]:
        used = block.state == USED
        _, requested, state = self._live[block.address] if used else (None, 0, "inactive")
        return {
            "address": block.address,
            "size": block.size,
            "requested_size": requested,
            "state": state,
            "frames": [],
        }
