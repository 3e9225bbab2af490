"""Runs a recorded program again with other settings, or with another allocator.

A `Program` is what was asked of the allocator and nothing of what it answered, so that any
allocator can be asked again.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from snapshots_and_traces.allocator.rules import Block, CachingAllocator, Driver, OutOfMemory
from snapshots_and_traces.allocator.settings import Settings
from snapshots_and_traces.replay.recorded import (
    DEFAULT,
    GIVES,
    RecordedTrace,
    allocator_for,
)


class Step(NamedTuple):
    """`alloc` of `size` bytes as number `key`, `free` of it, or `empty_cache`."""

    action: str
    key: int = 0
    size: int = 0
    stream: int = 0
    pool: Any = DEFAULT


@dataclass(frozen=True)
class Program:
    """The steps of a program; the first `before` only bring in what was there at the start."""

    steps: tuple[Step, ...]
    before: int = 0
    title: str = ""


@dataclass(frozen=True)
class Outcome:
    """Bytes after each step, as arrays, which end where memory ran out: for step `ran_out`."""

    allocated: np.ndarray
    reserved: np.ndarray
    ran_out: int | None = None

    @property
    def peak_allocated(self) -> int:
        return int(self.allocated.max(initial=0))

    @property
    def peak_reserved(self) -> int:
        return int(self.reserved.max(initial=0))


def program_of(trace: RecordedTrace) -> Program:
    """The requests of a recorded trace; first, by address, what was in use when it began.

    In which order that was allocated, and what was freed before, the trace doesn't tell.
    """
    held = [(s, b) for s in trace.start.segments for b in s.blocks if b.live and b.size]
    keys = {block.address: key for key, (_, block) in enumerate(held)}
    steps = [Step("alloc", keys[b.address], b.size, s.stream, s.pool) for s, b in held]
    released = False
    for event in trace.events:
        if event.action == "alloc":
            keys[event.addr] = len(steps)
            steps.append(Step("alloc", len(steps), event.size, event.stream, event.pool))
        elif event.action == "free_completed" and event.addr in keys:
            steps.append(Step("free", keys.pop(event.addr)))
        elif event.action in GIVES and not released:
            steps.append(Step("empty_cache"))
        released = event.action in GIVES
    return Program(tuple(steps), len(held), trace.title)


def run(
    program: Program,
    settings: Settings | None = None,
    capacity: float = float("inf"),
    allocator: CachingAllocator | None = None,
) -> Outcome:
    """The program from an empty allocator on a device with `capacity` bytes for it.

    `settings` are those of torch unless given; `allocator` is another one than torch's.
    """
    allocator = allocator or allocator_for(settings or Settings(), Driver(capacity))
    live: dict[int, Block] = {}
    curves: tuple[list[int], list[int]] = ([], [])
    ran_out = None
    for place, (action, key, size, stream, pool) in enumerate(program.steps):
        try:
            if action == "alloc":
                live[key] = allocator.malloc(size, stream, pool)
            elif action == "free":
                allocator.free(live.pop(key))
            else:
                allocator.empty_cache()
        except OutOfMemory:
            ran_out = place
            break
        curves[0].append(allocator.allocated)
        curves[1].append(allocator.reserved)
    allocated, reserved = (np.array(curve, dtype=np.int64) for curve in curves)
    return Outcome(allocated, reserved, ran_out)
