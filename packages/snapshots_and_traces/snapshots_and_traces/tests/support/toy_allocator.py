"""A toy allocator that records what it does as torch does, for tests that need a snapshot."""

import pickle
from pathlib import Path
from typing import Any

PAGE = 2 * 2**20
FRAMES = {
    name: {"name": name, "filename": f"/home/me/{name}.py", "line": line}
    for line, name in enumerate(("main", "step", "forward", "backward", "update"), 10)
}


class ToyAllocator:
    """Best fit in one pool of large segments on one stream; `states[i]` is what event i found."""

    def __init__(self, expandable: bool = False) -> None:
        self.expandable = expandable
        self.events: list[dict[str, Any]] = []
        self.states: list[Any] = []
        self.ranges: dict[int, int] = {}
        self.blocks: dict[int, dict[str, Any]] = {}
        self.next_address, self.time_us = 0x7F0000000000, 1_700_000_000_000_000

    def alloc(self, size: int, *stack: str) -> int:
        """Address of a block for `size` bytes, asked for by `stack`, outermost name first."""
        rounded = -(-size // 512) * 512
        address, room = self._best(rounded)
        frames = [FRAMES[name] for name in reversed(stack)]
        if address is None:
            address, room = self._from_driver(rounded, frames)
        splits = room - rounded >= (512 if self.expandable else 2**20 + 512)
        kept = rounded if splits else room
        self._say("alloc", address, size, frames)
        state = "active_allocated"
        self.blocks[address] = dict(
            address=address, size=kept, requested_size=size, state=state, frames=frames
        )
        return address

    def free(self, address: int, complete: bool = True) -> None:
        block = self.blocks[address]
        self._say("free_requested", address, block["requested_size"], block["frames"])
        self.blocks[address] = {**block, "state": "active_pending_free"}
        if complete:
            self.complete(address)

    def complete(self, address: int) -> None:
        block = self.blocks[address]
        self._say("free_completed", address, block["requested_size"], block["frames"])
        del self.blocks[address]

    def empty_cache(self) -> None:
        """Gives back whole free segments, or, of an expandable one, whole free pages."""
        for start, size in list(self.ranges.items()):
            if not self.expandable:
                if not self._inside(start, size):
                    self._say("segment_free", start, size, [])
                    del self.ranges[start]
                continue
            for low, high in self._gaps(start, size):
                low, high = -(-low // (10 * PAGE)) * 10 * PAGE, high // (10 * PAGE) * 10 * PAGE
                if high > low:
                    self._unmap(low, high - low)

    def snapshot(self, last: int | None = None) -> dict[str, Any]:
        """What `torch.cuda.memory._snapshot` gives, with the last so many events."""
        events = self.events if last is None else self.events[len(self.events) - last :]
        return {
            "segments": [self._segment(start, size) for start, size in self.ranges.items()],
            "device_traces": [events],
            "allocator_settings": {"expandable_segments": self.expandable},
            "external_annotations": [],
        }

    def dump(self, path: Path, last: int | None = None) -> Path:
        path.write_bytes(pickle.dumps(self.snapshot(last)))
        return path

    def held(self) -> Any:
        """Live blocks as (address, size, requested, state), and ranges, both by address."""
        keys = ("address", "size", "requested_size", "state")
        blocks = sorted(tuple(b[k] for k in keys) for b in self.blocks.values())
        return blocks, self._merged()

    def _say(self, action: str, addr: int, size: int, frames: list[Any]) -> None:
        self.states.append(self.held())
        self.time_us += 10
        self.events.append(
            dict(action=action, addr=addr, size=size, stream=0, time_us=self.time_us, frames=frames)
        )

    def _inside(self, start: int, size: int) -> list[dict[str, Any]]:
        return sorted(
            (b for b in self.blocks.values() if start <= b["address"] < start + size),
            key=lambda b: b["address"],
        )

    def _gaps(self, start: int, size: int) -> list[tuple[int, int]]:
        at, gaps = start, []
        for block in self._inside(start, size):
            gaps.append((at, block["address"]))
            at = block["address"] + block["size"]
        return [(low, high) for low, high in [*gaps, (at, start + size)] if high > low]

    def _best(self, size: int) -> Any:
        free = [(h - low, low) for s, n in self.ranges.items() for low, h in self._gaps(s, n)]
        room, address = min((f for f in free if f[0] >= size), default=(0, None))
        return address, room

    def _from_driver(self, size: int, frames: list[Any]) -> tuple[int, int]:
        unit = 10 * PAGE if size < 10 * 2**20 or self.expandable else PAGE
        whole = -(-size // unit) * unit
        address = self.next_address = -(-self.next_address // (10 * PAGE)) * 10 * PAGE
        self._say("segment_map" if self.expandable else "segment_alloc", address, whole, frames)
        self.ranges[address] = whole
        self.next_address += whole if self.expandable else whole + 10 * PAGE
        if self.expandable:
            self.ranges = dict(self._merged())
        start = max(s for s in self.ranges if s <= address)
        low, high = next(g for g in self._gaps(start, self.ranges[start]) if g[1] > address)
        return low, high - low

    def _unmap(self, address: int, size: int) -> None:
        self._say("segment_unmap", address, size, [])
        start = max(s for s in self.ranges if s <= address)
        whole = self.ranges.pop(start)
        if address > start:
            self.ranges[start] = address - start
        if start + whole > address + size:
            self.ranges[address + size] = start + whole - address - size

    def _merged(self) -> list[tuple[int, int]]:
        merged: list[tuple[int, int]] = []
        for start, size in sorted(self.ranges.items()):
            if self.expandable and merged and sum(merged[-1]) == start:
                merged[-1] = (merged[-1][0], merged[-1][1] + size)
            else:
                merged.append((start, size))
        return merged

    def _segment(self, start: int, size: int) -> dict[str, Any]:
        blocks, at = [], start
        for b in [*self._inside(start, size), {"address": start + size, "size": 0}]:
            if b["address"] > at:
                free = dict(size=b["address"] - at, requested_size=0, state="inactive", frames=[])
                blocks.append({"address": at, **free})
            blocks += [b] if b["size"] else []
            at = b["address"] + b["size"]
        live = [b for b in blocks if b["state"] != "inactive"]
        return dict(
            device=0, address=start, total_size=size, stream=0, segment_type="large",
            allocated_size=sum(b["size"] for b in live if b["state"] == "active_allocated"),
            active_size=sum(b["size"] for b in live), requested_size=0, segment_pool_id=(0, 0),
            is_expandable=self.expandable, frames=[], blocks=blocks,
        )  # fmt: skip
