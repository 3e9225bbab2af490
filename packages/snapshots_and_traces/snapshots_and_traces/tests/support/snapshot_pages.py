"""Snapshots made for the page: programs with one thing wrong."""

import pickle
import random
from typing import Any

from snapshots_and_traces.snapshots.loading import loads
from snapshots_and_traces.snapshots.snapshot import Snapshot
from snapshots_and_traces.tests.support.toy_allocator import ToyAllocator

MIB = 2**20


def healthy(steps: int = 6, leaked_bytes: int = 0) -> ToyAllocator:
    """Weights, and steps that free what they allocate, but for so many bytes each."""
    toy = ToyAllocator()
    toy.alloc(200 * MIB, "main")
    for _ in range(steps):
        held = [toy.alloc(20 * MIB, "main", "step", "forward") for _ in range(5)]
        held.append(toy.alloc(40 * MIB, "main", "step", "backward"))
        if leaked_bytes:
            toy.alloc(leaked_bytes, "main", "step", "update")
        for address in held:
            toy.free(address)
    return toy


def full_of_holes(segments: int = 8) -> ToyAllocator:
    """Segments of 30 MiB that requests of 16 leave half free, too little for the next of 20."""
    toy = ToyAllocator()
    for address in [toy.alloc(30 * MIB, "main", "forward") for _ in range(segments)]:
        toy.free(address)
    for size in (16, 20):
        for _ in range(segments):
            toy.alloc(size * MIB, "main", "step")
    for address in list(toy.blocks)[-4:]:
        toy.free(address)
    return toy


def emptied_each_step(toy: ToyAllocator, steps: int) -> ToyAllocator:
    """Gives everything back to the driver after each step, and asks for it again."""
    for _ in range(steps):
        for address in [toy.alloc(30 * MIB, "main", "forward") for _ in range(4)]:
            toy.free(address)
        toy.empty_cache()
    return toy


def out_of_memory(toy: ToyAllocator, size: int, left: int) -> ToyAllocator:
    """A request that fails while the device has so many bytes left."""
    toy.time_us += 10
    toy.states.append(toy.held())
    toy.events.append(
        dict(action="oom", device_free=left, size=size, stream=0, time_us=toy.time_us, frames=[])
    )
    return toy


def busy() -> ToyAllocator:
    """Weights, then steps at random, in two of which a request fails."""
    toy, choose, live = ToyAllocator(), random.Random(4), []
    toy.alloc(400 * MIB, "main")
    for step in range(300):
        size = choose.randrange(1, 12) * MIB
        live.append(toy.alloc(size, "main", "step", choose.choice(("forward", "backward"))))
        if step % 3:
            toy.free(live.pop(choose.randrange(len(live))))
        if step in (150, 250):
            out_of_memory(toy, 900 * MIB, 10 * MIB)
    return toy


def of_devices(*toys: ToyAllocator) -> dict[str, Any]:
    """One snapshot of several devices."""
    parts = [toy.snapshot() for toy in toys]
    segments = [{**s, "device": n} for n, part in enumerate(parts) for s in part["segments"]]
    traces = [toy.events for toy in toys]
    return {**parts[0], "segments": segments, "device_traces": traces}


def read(content: ToyAllocator | dict[str, Any], last: int | None = None) -> Snapshot:
    """What the library reads of a snapshot, of its last so many events."""
    whole = content.snapshot(last) if isinstance(content, ToyAllocator) else content
    return loads(pickle.dumps(whole), "toy.pickle")
