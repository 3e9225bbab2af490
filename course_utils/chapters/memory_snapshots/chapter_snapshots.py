"""The snapshots of chapter 9: made without a GPU, and taken from a real one where there is one."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from course_utils.chapters.memory_snapshots.programs import PROGRAMS
from course_utils.core import files
from course_utils.memory import counting, kept_snapshots
from course_utils.memory.made_snapshots import of_storages, write
from snapshots_and_traces.snapshots import stacks
from snapshots_and_traces.snapshots.lives import History, history
from snapshots_and_traces.snapshots.loading import load

CHAPTER = "09_memory_snapshots"
FOLDER = files.DATA / "snapshots"
PROGRAMS_FILE = "memory_snapshots/programs.py"  # a frame keeps the last folder and the file


def snapshot_file(name: str) -> Path:
    """The snapshot of a program that the course made. Raises: LookupError for another name."""
    _require_program(name)
    return FOLDER / f"{name}.pickle"


def recorded_snapshot(name: str) -> Path | None:
    """The newest recording of a program's snapshot; None where no machine has recorded one.

    Raises: LookupError, with the names there are, for another name; EvidenceError where the file
    isn't the one that was recorded.
    """
    _require_program(name)
    return kept_snapshots.kept(f"{CHAPTER}/{name}")


def _require_program(name: str) -> None:
    if name not in PROGRAMS:
        raise LookupError(f"no snapshot {name!r}; there are {', '.join(PROGRAMS)}")


def make(name: str) -> dict[str, Any]:
    """The snapshot of a program on a fake GPU, as a dict in torch's schema."""
    from course_utils.memory.fake_gpu import fake_gpu

    torch.manual_seed(0)
    random.seed(0)
    with fake_gpu() as device, counting.count(device=device.type, frames=True) as counted:
        alive = PROGRAMS[name](device, counted.watch)
    del alive
    for storage in counted.storages:
        storage.frames = _of_the_program(storage.frames)
    return of_storages(counted.storages)


def _of_the_program(frames: tuple[stacks.Frame, ...]) -> tuple[stacks.Frame, ...]:
    """The frames from the program on inwards; who called it is of no interest."""
    last = max((i for i, f in enumerate(frames) if f.filename.endswith(PROGRAMS_FILE)), default=-1)
    return frames[: last + 1]


def make_all() -> None:
    """Makes every snapshot that the course ships, and says what it wrote."""
    for name in PROGRAMS:
        path = FOLDER / f"{name}.pickle"
        write(make(name), path)
        print(f"{path.name}: {path.stat().st_size:,} bytes")


def record_snapshot(
    name: str, take: Callable[[Callable[[], Any], Path], None]
) -> kept_snapshots.Taken | None:
    """The snapshot of a program on this GPU, kept while recording: see `take_snapshot`."""
    _require_program(name)
    return kept_snapshots.take_snapshot(f"{CHAPTER}/{name}", PROGRAMS[name], PROGRAMS_FILE, take)


def on_gpus(name: str, taken: kept_snapshots.Taken | None) -> dict[str, History]:
    """The histories of a program on real GPUs, by their origin: just taken, and recorded."""
    found = {"live: this GPU": history(taken.snapshot)} if taken else {}
    path = recorded_snapshot(name)
    if path:
        found[f"recorded: {path.parent.parent.name}"] = history(load(path))
    return found
