"""Snapshots for tests: of a toy allocator used at random, changed, damaged; and the real ones."""

import pickle
import random
from pathlib import Path

import pytest

from snapshots_and_traces.replay.recorded import recorded_trace
from snapshots_and_traces.replay.what_if import Program, program_of
from snapshots_and_traces.snapshots.lives import History, history
from snapshots_and_traces.snapshots.loading import load
from snapshots_and_traces.tests.support.toy_allocator import ToyAllocator

HERE = Path(__file__).resolve().parents[5]  # the repository, which has some to open
SHIPPED = sorted((HERE / "data" / "snapshots").glob("*.pickle"))
REAL = [*SHIPPED, *sorted((HERE.parent / "shared" / "snapshots").glob("*.pickle"))]
real = pytest.mark.parametrize("file", REAL, ids=lambda path: path.stem)
MIB = 2**20


def asked_for(name: str) -> Program:
    """What one of the programs that the course ships a snapshot of asked the allocator for."""
    return program_of(recorded_trace(load(HERE / "data" / "snapshots" / f"snapshot_{name}.pickle")))


def some_work(expandable: bool = False, steps: int = 400, seed: int = 3) -> ToyAllocator:
    """An allocator that has been used at random, caches emptied now and then."""
    toy, choose, live, waiting = ToyAllocator(expandable), random.Random(seed), [], []
    for _ in range(steps):
        act = choose.random()
        if act < 0.5 or not live:
            size = choose.choice((1, 2, 3, 5, 12, 30)) * MIB + choose.randrange(MIB)
            live.append(toy.alloc(size, "main", choose.choice(("forward", "backward"))))
        elif act < 0.8:
            toy.free(live.pop(choose.randrange(len(live))))
        elif act < 0.88:
            waiting.append(live.pop(choose.randrange(len(live))))
            toy.free(waiting[-1], complete=False)
        elif act < 0.96:
            while waiting:
                toy.complete(waiting.pop())
        else:
            toy.empty_cache()
    return toy


def opened(toy: ToyAllocator, folder: Path, last: int | None = None) -> History:
    """The history of a toy allocator's snapshot, of its last so many events."""
    return history(load(toy.dump(folder / "toy.pickle", last)))


def state_of(toy: ToyAllocator, moment: int):
    """What a toy held at a moment of the history of its last 500 events."""
    return toy.states[len(toy.events) - 500 + moment]


def changed(toy: ToyAllocator, path: Path, change) -> Path:
    content = pickle.loads(pickle.dumps(toy.snapshot()))
    change(content)
    path.write_bytes(pickle.dumps(content))
    return path


def small_snapshot() -> bytes:
    toy = ToyAllocator()
    kept = [toy.alloc(2**20 * n, "main", "step", "forward") for n in range(1, 5)]
    for address in kept[::2]:
        toy.free(address)
    return pickle.dumps(toy.snapshot())


def damaged(whole: bytes, choose: random.Random) -> bytes:
    data = bytearray(whole)
    how = choose.randrange(4)
    if how == 0:
        return bytes(data[: choose.randrange(len(data))])
    for _ in range(choose.choice((1, 1, 2, 8))):
        at = choose.randrange(len(data))
        if how == 1:
            data[at] ^= 1 << choose.randrange(8)
        elif how == 2:
            data[at] = choose.randrange(256)
        else:
            cut = data[at : at + choose.randrange(40)]
            to = choose.randrange(len(data))
            data[to:to] = cut
    return bytes(data)
