"""The snapshots that chapter 9 reads: recorded on a GPU where that was done, otherwise made."""

import gc
import hashlib
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from course_utils import evidence, files, memory, recording, safe_pickle
from course_utils.made_snapshots import FOLDER, of_storages, write
from course_utils.programs import PROGRAMS

CHAPTER = "09_memory_snapshots"
PROGRAMS_FILE = "course_utils/programs.py"


def snapshot_file(name: str) -> Path:
    """The newest recording of a program's snapshot, or the one that the course made.

    Errors: LookupError, with the names there are, for another name; EvidenceError where a
    recorded file isn't the one that was recorded.
    """
    if name not in PROGRAMS:
        raise LookupError(f"no snapshot {name!r}; there are {', '.join(PROGRAMS)}")
    found = evidence.recorded(name)
    if found is None:
        return FOLDER / f"{name}.pickle"
    row = found.rows[0]
    path = files.RECORDED / row["file"]
    if not path.exists() or _digest(path) != row["file_sha256"]:
        raise evidence.EvidenceError(
            f"{row['file']} isn't the snapshot that was recorded. Get it back with git checkout, "
            "or record it again on that machine with `make record`."
        )
    return path


def origin(path: Path) -> str:
    """Where a snapshot is from, in words."""
    if path.is_relative_to(files.RECORDED):
        return f"recorded: {path.parent.parent.name}"
    return "made without a GPU: real tensors, addresses by the course's allocator"


def make(name: str) -> dict[str, Any]:
    """The snapshot of a program on a fake GPU, as a dict in torch's schema."""
    from course_utils.fake_gpu import fake_gpu

    torch.manual_seed(0)
    random.seed(0)
    with fake_gpu() as device, memory.count(device=device.type, frames=True) as counted:
        alive = PROGRAMS[name](device, counted.watch)
    del alive
    for storage in counted.storages:
        storage.frames = _of_the_program(storage.frames)
    return of_storages(counted.storages)


def _of_the_program(frames: tuple[memory.Frame, ...]) -> tuple[memory.Frame, ...]:
    """The frames from the program on inwards; who called it is of no interest."""
    last = max((i for i, f in enumerate(frames) if f.filename.endswith(PROGRAMS_FILE)), default=-1)
    return frames[: last + 1]


def make_all(folder: Path = FOLDER) -> None:
    """Makes every snapshot that the course ships, and says what it wrote."""
    for name in PROGRAMS:
        path = folder / f"{name}.pickle"
        write(make(name), path)
        print(f"{path.name}: {path.stat().st_size:,} bytes")


def record_snapshot(name: str, take: Callable[[Callable[[], None], Path], None]) -> None:
    """While recording on a GPU: keeps the snapshot that `take(program, path)` dumps.

    Frames are shortened to the last two parts of their files. Without a GPU, or without
    recording, nothing happens.
    """
    folder = recording.recording_folder()
    if folder is None or not torch.cuda.is_available():
        return
    path = folder / CHAPTER / f"{name}.pickle"
    path.parent.mkdir(parents=True, exist_ok=True)
    gc.collect()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    take(lambda: PROGRAMS[name](torch.device("cuda")), path)
    write(_shortened(path), path)
    row = {
        "file": f"{folder.name}/{CHAPTER}/{path.name}",
        "file_sha256": _digest(path),
        "peak_allocated_bytes": torch.cuda.max_memory_allocated(),
        "peak_reserved_bytes": torch.cuda.max_memory_reserved(),
    }
    recording.record(name, [row])


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _shortened(path: Path) -> Any:
    content = safe_pickle.read(path.read_bytes())
    stacks = {id(stack): stack for stack in _stacks(content)}  # events may share one
    for stack in stacks.values():
        own = [i for i, f in enumerate(stack) if f["filename"].endswith(PROGRAMS_FILE)]
        del stack[own[-1] + 1 if own else len(stack) :]
        for frame in stack:
            frame["filename"] = _short(frame["filename"])
    return content


def _short(filename: str) -> str:
    """Without the folders of a machine: a library's file from the library's name on."""
    _, library, rest = filename.rpartition("site-packages/")
    return rest if library else "/".join(Path(filename).parts[-2:])


def _stacks(content: Any) -> Any:
    for trace in content["device_traces"]:
        yield from (event.get("frames", []) for event in trace)
    for segment in content["segments"]:
        yield segment.get("frames", [])
        yield from (block.get("frames", []) for block in segment["blocks"])
