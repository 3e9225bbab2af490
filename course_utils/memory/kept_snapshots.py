"""Snapshots of a real GPU: taken, and kept among what is recorded, a file a program and machine."""

import hashlib
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from course_utils.core import evidence, files, recording
from course_utils.memory.made_snapshots import write
from course_utils.memory.on_gpu import emptied
from snapshots_and_traces.snapshots import safe_pickle, stacks
from snapshots_and_traces.snapshots.loading import load
from snapshots_and_traces.snapshots.snapshot import Snapshot

LARGEST_KEPT = 2 * 2**20
Program = Callable[[torch.device], Any]


def kept(of: str) -> Path | None:
    """The newest recording of a snapshot, `of` a chapter and a name: "09_…/leak"; None without one.

    Raises: EvidenceError where the file isn't the one that was recorded.
    """
    found = evidence.recorded(of)
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


@dataclass(frozen=True)
class Taken:
    """A snapshot taken on this GPU: read, and as the file's dict."""

    snapshot: Snapshot
    content: dict[str, Any]


def take_snapshot(
    of: str, program: Program, last_file: str, take: Callable[[Callable[[], Any], Path], None]
) -> Taken | None:
    """The snapshot of a program on this GPU, as `take(program, path)` dumps it; None without one.

    Where it fails (out of memory), a printed sentence says so, and the others go on.

    It begins with an empty allocator: what earlier cells left in it, and cuBLAS's workspaces,
    would be in the trace. While recording the file is kept as `of`, with its digest in its name:
    whole files only, and the old one until the new one is announced. Its stacks begin in
    `last_file`, as `shortened` says.
    """
    if not torch.cuda.is_available():
        return None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{Path(of).name}.pickle"
        emptied()
        # by default torch asks the program addr2line for names, and fails where there is none
        os.environ.setdefault("TORCH_SYMBOLIZE_MODE", "dladdr")
        try:
            take(lambda: program(torch.device("cuda")), path)
        except (RuntimeError, ValueError) as error:
            print(f"– {Path(of).name}: no snapshot here ({type(error).__name__}: {error!s:.200})")
            emptied()
            return None
        peaks = torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()
        emptied()
        content = shortened(path, last_file)
        write(content, path)
        if recording.recording_folder() is not None:
            _keep(of, path, *peaks)
        return Taken(load(path), content)


def _keep(of: str, taken: Path, peak_allocated: int, peak_reserved: int) -> None:
    """Adds a snapshot and its row to what is recorded, whole files only, and forgets older ones."""
    content, name = taken.read_bytes(), Path(of).name
    if len(content) > LARGEST_KEPT:
        raise evidence.EvidenceError(
            f"the snapshot {name} has {len(content):,} bytes; at most {LARGEST_KEPT:,} are kept"
        )
    folder, digest = recording.recording_folder(), _digest(taken)
    assert folder is not None
    path = folder / f"{of}.{digest[:8]}.pickle"
    row = {
        "file": path.relative_to(folder.parent).as_posix(),
        "file_sha256": digest,
        "peak_allocated_bytes": peak_allocated,
        "peak_reserved_bytes": peak_reserved,
    }
    files.write_whole(path, content)
    recording.record(of, [row])
    for old in set(path.parent.glob(f"{name}.*.pickle")) - {path}:
        old.unlink()


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def shortened(path: Path, last_file: str) -> Any:
    """The file's content without the machine's folders and without what nobody reads.

    Kept of a stack: Python's frames from `last_file` on inwards (its last folder and its name), and
    of C++'s what names a backward function or an operator.
    """
    content = safe_pickle.read(path.read_bytes())
    found = {id(stack): stack for stack in _stacks(content)}  # events may share one
    kept: dict[stacks.Frame, dict[str, Any]] = {}
    for stack in found.values():
        own = [i for i, f in enumerate(stack) if f["filename"].endswith(last_file)]
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
