"""The snapshots of chapter 9: made without a GPU, and taken from a real one where there is one."""

import hashlib
import os
import random
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from course_utils.chapters.memory_snapshots.programs import PROGRAMS
from course_utils.core import evidence, files, recording
from course_utils.memory import counting
from course_utils.memory.made_snapshots import of_storages, write
from course_utils.memory.on_gpu import emptied
from snapshots_and_traces.snapshots import safe_pickle, stacks
from snapshots_and_traces.snapshots.lives import History, history
from snapshots_and_traces.snapshots.loading import load
from snapshots_and_traces.snapshots.snapshot import Snapshot

CHAPTER = "09_memory_snapshots"
FOLDER = files.DATA / "snapshots"
PROGRAMS_FILE = "memory_snapshots/programs.py"  # a frame keeps the last folder and the file
LARGEST_KEPT = 2 * 2**20
BATCH, STEP = "training, programs.py:42", "training, programs.py:49"
PASSES = {"forward": "forward", "training, programs.py:48": "backward", STEP: "optimizer"}


def snapshot_file(name: str) -> Path:
    """The snapshot of a program that the course made. Raises: LookupError for another name."""
    _require_program(name)
    return FOLDER / f"{name}.pickle"


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
    """The frames from the program on inwards, without its callers."""
    last = max((i for i, f in enumerate(frames) if f.filename.endswith(PROGRAMS_FILE)), default=-1)
    return frames[: last + 1]


def make_all() -> None:
    """Makes every snapshot that the course ships, and says what it wrote."""
    for name in PROGRAMS:
        path = FOLDER / f"{name}.pickle"
        write(make(name), path)
        print(f"{path.name}: {path.stat().st_size:,} bytes")


# ---- Snapshots of a real GPU: taken here, and kept among what is recorded.


def record_snapshot(name: str, take: Callable[[Callable[[], Any], Path], None]) -> Snapshot | None:
    """The snapshot of a program on this GPU, as `take(program, path)` dumps it; None without one.

    Where it fails (out of memory), a printed sentence says so, and the others go on.

    It begins with an empty allocator: what earlier cells left in it, and cuBLAS's workspaces,
    would be in the trace. While recording the file is kept, with its digest in its name: whole
    files only, and the old one until the new one is announced.
    """
    _require_program(name)
    if not torch.cuda.is_available():
        return None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.pickle"
        emptied()
        # by default torch asks the program addr2line for names, and fails where there is none
        os.environ.setdefault("TORCH_SYMBOLIZE_MODE", "dladdr")
        try:
            take(lambda: PROGRAMS[name](torch.device("cuda")), path)
        except (RuntimeError, ValueError) as error:
            print(f"– {name}: no snapshot here ({type(error).__name__}: {error!s:.200})")
            emptied()
            return None
        peaks = torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()
        emptied()
        write(_shortened(path), path)
        if recording.recording_folder() is not None:
            _keep(name, path, *peaks)
        return load(path)


def _keep(name: str, taken: Path, peak_allocated: int, peak_reserved: int) -> None:
    """Adds a snapshot and its row to what is recorded, whole files only, and forgets older ones."""
    content = taken.read_bytes()
    if len(content) > LARGEST_KEPT:
        raise evidence.EvidenceError(
            f"the snapshot {name} has {len(content):,} bytes; at most {LARGEST_KEPT:,} are kept"
        )
    folder, digest = recording.recording_folder(), _digest(taken)
    assert folder is not None
    path = folder / CHAPTER / f"{name}.{digest[:8]}.pickle"
    row = {
        "file": path.relative_to(folder.parent).as_posix(),
        "file_sha256": digest,
        "peak_allocated_bytes": peak_allocated,
        "peak_reserved_bytes": peak_reserved,
    }
    files.write_whole(path, content)
    recording.record(f"{CHAPTER}/{name}", [row])
    for old in set(path.parent.glob(f"{name}.*.pickle")) - {path}:
        old.unlink()


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def recorded_snapshot(name: str) -> Path | None:
    """The newest recording of a program's snapshot; None where no machine has recorded one.

    Raises: LookupError, with the names there are, for another name; EvidenceError where the file
    isn't the one that was recorded.
    """
    _require_program(name)
    found = evidence.recorded(f"{CHAPTER}/{name}")
    if found is None:
        return None
    row = found.rows[0]
    path = files.RECORDED / row["file"]
    if not path.exists() or _digest(path) != row["file_sha256"]:
        raise evidence.EvidenceError(
            f"{row['file']} isn't the snapshot that was recorded. Get it back with git checkout, "
            "or record it again on that machine with `make record`."
        )
    return path


def shown(name: str, taken: Mapping[str, Snapshot | None]) -> History:
    """The history, by kind, of what was taken here, else recorded, else shipped; its name says."""
    if own := taken[name]:
        return replace(_by_kind(history(own)), name=evidence.Series.of({}).provenance)
    path, found = recorded_snapshot(name), evidence.recorded(f"{CHAPTER}/{name}")
    if path is None or found is None:
        return replace(history(load(snapshot_file(name))), name="exact: made on a fake GPU")
    return replace(_by_kind(history(load(path))), name=found.provenance)


def passes(taken: Snapshot | None) -> list[tuple[str, int, int]]:
    """The passes of the training steps: name, first moment, and the moment after the last.

    They are those of what was taken here, else of what was recorded: a pass begins with the first
    allocation of its line, and the optimizer's ends with the next batch.
    """
    path = recorded_snapshot("snapshot_step_fp32")
    if taken is None and path is None:
        return []
    of = history(taken or load(path or ""))
    begins: list[tuple[str, int]] = []
    for place in np.argsort(of.allocations.birth):
        line, birth = of.site_names[of.sites[place]], int(of.allocations.birth[place])
        found = next((name for part, name in PASSES.items() if line.startswith(part)), "")
        if (found or line == BATCH) and found != (begins[-1][0] if begins else ""):
            begins.append((found, birth))
    ends = [birth for _, birth in begins[1:]] + [of.moments]
    return [(*one, end) for one, end in zip(begins, ends, strict=True) if one[0]]


def _by_kind(of: History) -> History:
    """A training program's allocations by kind: from the line that asked, and from when they died.

    What the first step's passes allocated and what stays after all steps is a workspace.
    """
    lives, asked = of.allocations, np.array([of.site_names[site] for site in of.sites])
    steps = lives.birth[asked == STEP]
    passes = lives.birth[np.char.startswith(asked, "backward")]

    def kind(line: str, birth: int, death: int) -> str:
        if line.startswith(("__init__", BATCH)):
            return "input" if line == BATCH else "parameter"
        stays = death >= of.moments
        if line == STEP or (stays and birth < min(steps, default=0)):
            return ("optimizer state" if line == STEP else "workspace") if stays else "temporary"
        forward = line.startswith(("forward", "_loss"))
        until = passes if forward else steps  # activations live so long, gradients so long
        if death <= min(until[until > birth], default=of.moments - 1):
            return "temporary"
        return "activation" if forward else "gradient"

    kinds = [*map(kind, asked.tolist(), lives.birth.tolist(), lives.death.tolist())]
    names, sites = np.unique(kinds, return_inverse=True)
    return replace(of, sites=sites, site_names=tuple(names.tolist()), by_category=True)


def _shortened(path: Path) -> Any:
    """The file's content without the machine's folders and without what nobody reads.

    Kept of a stack: Python's frames from the program on inwards, and of C++'s what names a backward
    function or an operator.
    """
    content = safe_pickle.read(path.read_bytes())
    found = {id(stack): stack for stack in _stacks(content)}  # events may share one
    kept: dict[stacks.Frame, dict[str, Any]] = {}
    for stack in found.values():
        own = [i for i, f in enumerate(stack) if f["filename"].endswith(PROGRAMS_FILE)]
        del stack[own[-1] + 1 if own else len(stack) :]
        short = [_short_frame(f["name"], f["filename"], f["line"]) for f in stack]
        stack[:] = [kept.setdefault(frame, frame._asdict()) for frame in short if frame]
    return content


def _short_frame(name: str, filename: str, line: int) -> stacks.Frame | None:
    """The frame as it is kept; None for one of C++ that `stacks` doesn't read."""
    if stacks.Frame(name, filename, line).is_python:
        return stacks.Frame(name, _short(filename), line)
    patterns = (stacks.BACKWARD, stacks.OPERATOR)
    named = next((found for p in patterns if (found := p.search(name))), None)
    return stacks.Frame(named[0], "", 0) if named else None


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
