"""The events of a trace: a list of dicts in the file, columns of numbers here."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import repeat
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from snapshots_and_traces.snapshots.safe_pickle import SnapshotError
from snapshots_and_traces.snapshots.stacks import Stacks, text_of

ACTIONS = (
    "alloc", "free_requested", "free_completed", "segment_alloc", "segment_free", "segment_map",
    "segment_unmap", "oom", "snapshot", "user_defined", "other",
)  # fmt: skip
CODE = {name: code for code, name in enumerate(ACTIONS)}
CHUNK = 2**14
MOST_BYTES = 2**43  # 8 TiB, over ten times what the largest GPUs have
NOTHING_TAKEN = ("oom", "user_defined", "other")  # whose sizes may be anything
Array = np.ndarray


class Event(NamedTuple):
    """One line of a trace.

    `size` is in bytes: what was requested for `alloc` and the frees, what was mapped for
    `segment_…`. For `oom`, `addr` holds the bytes that the device still had free. `time_us` is 0
    where the file has no times.
    """

    action: str
    addr: int
    size: int
    stream: int
    time_us: int
    stack: int
    category: str
    pool: tuple[int, int]


@dataclass(frozen=True)
class Trace:
    """The events of one device as columns, all of the same length.

    `action` holds codes, places in ACTIONS; `addr`, `size`, `stream`, `time_us` are as in Event;
    `stack` says which of `stacks`; `category`, `pool` which of `categories`, `pools`.
    """

    device: int
    action: Array
    addr: Array
    size: Array
    stream: Array
    time_us: Array
    stack: Array
    category: Array
    pool: Array
    categories: tuple[str, ...]
    pools: tuple[tuple[int, int], ...]
    stacks: Stacks = field(repr=False)

    def __len__(self) -> int:
        return len(self.action)

    def event(self, place: int) -> Event:
        """The event at a place, counted from 0."""
        return next(self._events(slice(place, place + 1)))

    def events(self) -> Iterator[Event]:
        """All events in order."""
        for start in range(0, len(self), CHUNK):
            yield from self._events(slice(start, start + CHUNK))

    def backwards(self) -> Iterator[tuple[int, int, int, int]]:
        """Code of the action, address, size and place of all events, the last first."""
        for end in range(len(self), 0, -CHUNK):
            start = max(end - CHUNK, 0)
            columns = (c[start:end][::-1].tolist() for c in (self.action, self.addr, self.size))
            yield from zip(*columns, range(end - 1, start - 1, -1), strict=True)

    def where(self, *actions: str) -> Array:
        """The places of the events with one of these actions."""
        return np.flatnonzero(np.isin(self.action, [CODE[name] for name in actions]))

    def _events(self, part: slice) -> Iterator[Event]:
        numbers = (self.addr, self.size, self.stream, self.time_us, self.stack)
        yield from map(
            Event,
            (ACTIONS[code] for code in self.action[part].tolist()),
            *(column[part].tolist() for column in numbers),
            (self.categories[code] for code in self.category[part].tolist()),
            (self.pools[code] for code in self.pool[part].tolist()),
        )


class Walked:
    """Counts what was read of a file: a list with a thousand references counts each time."""

    def __init__(self, file_bytes: int) -> None:
        self.left = file_bytes

    def list(self, raw: Any) -> "list[Any]":
        """`raw`, if it is a list that a file of this size can hold. Raises: SnapshotError."""
        if not isinstance(raw, list):
            raise SnapshotError(f"where a list belongs it has {type(raw).__name__}.")
        self.left -= len(raw)
        if self.left < 0:
            raise SnapshotError("it repeats its lists until they outgrow the file: a memory bomb.")
        return raw


def trace_of(raw: list[dict[str, Any]], device: int, stacks: Stacks) -> Trace:
    """The events of a device as columns. Raises: whatever a wrong field raises."""
    n = len(raw)

    def column(values: Iterable[Any], kind: type = np.int64) -> Array:
        return np.fromiter(values, kind, n)

    def whole(values: Iterable[Any]) -> Array:
        """A column of whole numbers. Raises: SnapshotError where one is something else."""
        found = list(values)
        if set(map(type, found)) - {int}:
            raise SnapshotError("where an event has a number it has something else.")
        return column(found)

    def of_each(name: str, otherwise: Any = None) -> Iterator[Any]:
        return map(dict.get, raw, repeat(name), repeat(otherwise))

    def numbers(name: str, known: dict[Any, int], clean: Callable[[Any], Any]) -> Array:
        if any(map(dict.__contains__, raw, repeat(name))):
            return column(_numbered(of_each(name), known, clean), np.int32)
        return np.zeros(n, np.int32)

    categories: dict[str, int] = {"": 0}
    pools: dict[tuple[int, int], int] = {(0, 0): 0}
    has_address = all(map(dict.__contains__, raw, repeat("addr")))
    trace = Trace(
        device,
        column(map(CODE.get, map(itemgetter("action"), raw), repeat(CODE["other"])), np.uint8),
        whole(map(itemgetter("addr"), raw) if has_address else map(_address, raw)),
        whole(map(itemgetter("size"), raw)),
        whole(map(itemgetter("stream"), raw)),
        whole(of_each("time_us", 0)),
        column(stacks.numbers(of_each("frames")), np.int32),
        numbers("category", categories, text_of),
        numbers("pool_id", pools, pool_of),
        tuple(categories), tuple(pools), stacks,
    )  # fmt: skip
    if (trace.addr < 0).any() or (trace.size < 0).any():
        raise SnapshotError("it has events of negative size or address.")
    taken = np.where(np.isin(trace.action, [CODE[name] for name in NOTHING_TAKEN]), 0, trace.size)
    can_be(int(taken.max(initial=0)))
    return trace


def _address(event: dict[str, Any]) -> Any:
    return event["addr"] if "addr" in event else event["device_free"]


def _numbered(values: Iterable[Any], known: dict[Any, int], clean: Any) -> Iterator[int]:
    """For each value its number among those `known`, to which new ones are added, cleaned.

    A field that isn't there is None, and its number 0.
    """
    seen: dict[Any, int] = {None: 0}
    for value in values:
        try:
            number = seen.get(value)
        except TypeError:  # a list or a dict, which can't be looked up
            number = known.setdefault(clean(value), len(known))
        if number is None:
            number = seen[value] = known.setdefault(clean(value), len(known))
        yield number


def pool_of(raw: Any) -> tuple[int, int]:
    """The memory pool's two numbers; (0, 0), the common one, where the file has none."""
    first, second = (0, 0) if raw is None else raw
    return int(first), int(second)


def can_be(size: int) -> int:
    """The size of a block or segment, in bytes. Raises: SnapshotError where no GPU has as many."""
    if size > MOST_BYTES:
        raise SnapshotError(
            f"it speaks of {size / 2**40:,.0f} TiB in one piece, and no GPU has that: dump it anew."
        )
    return size


def size_of(raw: Any) -> int:
    """A size or an address. Raises: SnapshotError for anything but a number from 0 to 2^63 - 1."""
    if type(raw) is not int or not 0 <= raw < 2**63:
        raise SnapshotError("where a size or an address belongs it has something else.")
    return raw
