"""Snapshots without a GPU: real code, its storages counted, the course's allocator under them.

What is real: every tensor that the code makes and drops, in order, with its size and the lines
that asked for it. What is made: addresses and segments, by `memory.allocator.rules`; a "time"
that counts events. The file has torch's own schema, and says that it was made.
"""

import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from course_utils.core import files
from course_utils.memory import counting
from course_utils.memory.fake_gpu import apart, fake_gpu
from snapshots_and_traces.allocator.rules import Block, CachingAllocator
from snapshots_and_traces.snapshots.recorder import Recorder
from snapshots_and_traces.snapshots.snapshot import Snapshot, snapshot_of


def made(run: Callable[[], Any], device: str | None = None) -> dict[str, Any]:
    """Makes the snapshot that torch.cuda.memory would take of `run()`, with our allocator.

    Storages of `device` (a type) are counted, all without one. `category` of an event is the kind
    (`counting.KINDS`) of the storage.
    """
    with counting.count(device=device, frames=True) as counted:
        alive = run()
    del alive
    return of_storages(counted.storages)


def of_storages(storages: list[counting.Storage]) -> dict[str, Any]:
    """A snapshot of storages counted elsewhere, allocated and freed in their order."""
    recorder = Recorder(CachingAllocator())
    events: list[tuple[int, int, counting.Storage]] = []
    for place, storage in enumerate(storages):
        if storage.n_bytes:
            events.append((storage.born, place, storage))
            if storage.died is not None:
                events.append((storage.died, -1, storage))
    blocks: dict[int, Block] = {}
    for _, place, storage in sorted(events, key=lambda event: event[:2]):
        if place < 0:
            recorder.free(blocks.pop(id(storage)))
        else:
            frames = [frame._asdict() for frame in storage.frames]
            blocks[id(storage)] = recorder.malloc(storage.n_bytes, frames=frames)
            recorder.events[-1]["category"] = storage.kind or "temporary"
    found = recorder.snapshot()
    found["user_metadata"] = f"made without a GPU by course_utils, torch {torch.__version__}"
    return found


def on_fake_gpu(run: Callable[[torch.device], Any]) -> Snapshot:
    """The snapshot of `run(device)` on a GPU that isn't there: nothing computes.

    As in torch's own files no event has a category: nobody watched a model.
    """

    def content_of() -> dict[str, Any]:
        with fake_gpu() as device:
            return made(lambda: run(device), device.type)

    content = apart(content_of)
    for event in content["device_traces"][0]:
        event.pop("category", None)
    return loaded(content)


def loaded(content: dict[str, Any], name: str = "made") -> Snapshot:
    """A snapshot's dict, read as a file would be."""
    return snapshot_of(content, sys.maxsize, name)


def write(snapshot: dict[str, Any], path: Path) -> None:
    """Pickles a snapshot, whole or not at all."""
    files.write_whole(path, pickle.dumps(snapshot, protocol=4))
