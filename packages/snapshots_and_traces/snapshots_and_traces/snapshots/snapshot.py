"""A memory snapshot of torch as typed objects and columns, read without torch and without trust.

`torch.cuda.memory._dump_snapshot` pickles a dict: `segments`, what the allocator holds at the end
with every block, and `device_traces`, what it did before, a list of events for each device. Files
of torch 2.1 to 2.13 differ in the fields that they lack.
Source of the schema: torch/csrc/cuda/Module.cpp and torch/cuda/_memory_viz.py.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from snapshots_and_traces.snapshots.events import (
    Trace,
    Walked,
    can_be,
    pool_of,
    size_of,
    trace_of,
)
from snapshots_and_traces.snapshots.safe_pickle import SnapshotError
from snapshots_and_traces.snapshots.stacks import Stacks, text_of

MOST_DEVICES = 1024


class Block(NamedTuple):
    """Bytes of a segment that are handed out or free; `requested_size` of a free one is 0."""

    address: int
    size: int
    requested_size: int
    state: str
    stack: int = 0

    @property
    def end(self) -> int:
        return self.address + self.size

    @property
    def live(self) -> bool:
        """Handed out, or freed by its owner and still waited for by another stream."""
        return self.state != "inactive"


class Segment(NamedTuple):
    """Memory that the allocator got from the driver, cut into blocks; sizes in bytes."""

    device: int
    address: int
    total_size: int
    stream: int
    kind: str
    pool: tuple[int, int]
    is_expandable: bool
    blocks: tuple[Block, ...]
    stack: int = 0

    @property
    def end(self) -> int:
        return self.address + self.total_size

    @property
    def active_size(self) -> int:
        return sum(b.size for b in self.blocks if b.live)

    @property
    def requested_size(self) -> int:
        return sum(b.requested_size for b in self.blocks if b.live)


@dataclass(frozen=True)
class Snapshot:
    """All that a file says; `settings` are the allocator's."""

    name: str
    all_segments: tuple[Segment, ...] = field(repr=False)
    traces: tuple[Trace, ...] = field(repr=False)
    stacks: Stacks = field(repr=False)
    settings: dict[str, Any] = field(repr=False)

    @property
    def devices(self) -> list[int]:
        """The numbers of the devices that hold memory or did something."""
        held = {s.device for s in self.all_segments}
        return sorted(held | {t.device for t in self.traces if len(t)})

    def trace(self, device: int | None = None) -> Trace:
        """The events of a device; without a number, of the only one. Raises: ValueError."""
        number = self.the_device(device)
        empty = trace_of([], number, self.stacks)
        return next((t for t in self.traces if t.device == number), empty)

    def segments(self, device: int | None = None) -> list[Segment]:
        """The segments of a device's allocator at the end, by address. Raises: ValueError."""
        number = self.the_device(device)
        mine = (s for s in self.all_segments if s.device == number)
        return sorted(mine, key=lambda s: s.address)

    def the_device(self, device: int | None = None) -> int:
        """The number of the device that is meant. Raises: ValueError where it isn't clear."""
        known = self.devices or [0]
        if device is None and len(known) > 1:
            raise ValueError(f"{self.name} has devices {known}: say which one, as device=…")
        if device is not None and device not in known:
            raise ValueError(f"{self.name} has nothing of device {device}; it has {known}.")
        return device if device is not None else known[0]


def snapshot_of(content: Any, size: int, name: str = "") -> Snapshot:
    """The snapshot in what a pickle of `size` bytes holds. Raises: SnapshotError."""
    try:
        parts = content["segments"], content["device_traces"]
    except (TypeError, KeyError, IndexError):
        raise SnapshotError("it holds no `segments` and `device_traces`: no snapshot.") from None
    stacks, walked = Stacks(), Walked(size)
    if isinstance(parts[1], list) and len(parts[1]) > MOST_DEVICES:
        raise SnapshotError(f"it has traces of {len(parts[1]):,} devices.")
    try:
        segments = tuple(_segment(s, stacks, walked) for s in walked.list(parts[0]))
        traces = tuple(
            trace_of(walked.list(events), device, stacks)
            for device, events in enumerate(walked.list(parts[1]))
        )
    except SnapshotError:
        raise
    except Exception as problem:  # any value can be wrong in any place, and each means the same
        what = f"{type(problem).__name__}: {problem}"
        raise SnapshotError(f"its fields are not those of a snapshot ({what:.200}).") from None
    stacks.forget_sources()
    settings = content.get("allocator_settings")
    settings = settings if isinstance(settings, dict) else {}
    return Snapshot(name, segments, traces, stacks, settings)


def _segment(raw: dict[str, Any], stacks: Stacks, walked: Walked) -> Segment:
    start = size_of(raw["address"])
    blocks = tuple(_blocks(walked.list(raw["blocks"]), start, stacks))
    total = can_be(size_of(raw["total_size"]))
    return Segment(
        size_of(raw.get("device", 0)), start, total, int(raw["stream"]),
        "small" if raw["segment_type"] == "small" else "large", pool_of(raw.get("segment_pool_id")),
        bool(raw.get("is_expandable")), blocks, stacks.intern(raw.get("frames")),
    )  # fmt: skip


def _blocks(raw: list[dict[str, Any]], at: int, stacks: Stacks) -> Iterator[Block]:
    """The blocks of a segment that begins at an address; old files leave theirs out."""
    for b in raw:
        state, size = text_of(b["state"]), can_be(size_of(b["size"]))
        asked = 0 if state == "inactive" else size_of(b.get("requested_size", size))
        address = size_of(b.get("address", at))
        yield Block(address, size, asked, state, stacks.intern(b.get("frames")))
        at = address + size
