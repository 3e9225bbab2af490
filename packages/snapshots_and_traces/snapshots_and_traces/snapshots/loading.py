"""Opening anybody's snapshot: in a process of its own, which may take so much memory and time.

The unpickler there refuses whatever a file asks for, so nothing of it runs. A file that claims more
memory than it should, takes too long, or crashes Python ends that process, and is refused here with
a sentence. What comes back are columns of numbers and texts as MessagePack, with types checked.
On macOS the system doesn't enforce the limit of memory; Windows has neither limit.
"""

import gc
import json
import os
import pickle
import signal
import subprocess
import sys
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from snapshots_and_traces.snapshots import safe_pickle
from snapshots_and_traces.snapshots.safe_pickle import SnapshotError
from snapshots_and_traces.snapshots.snapshot import Snapshot, snapshot_of
from snapshots_and_traces.snapshots.stacks import Frame, Stacks

LARGEST_BYTES = 2**30
# A snapshot takes 4 to 5 times its file's size in memory, and a second for 40 MB of it.
LEAST_MEMORY, MEMORY_PER_BYTE = 10**9, 8
LEAST_SECONDS, SECONDS_PER_BYTE = 5, 1 / 10e6
READ, REFUSED = b"+", b"-"  # the first byte that the process writes
PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1])\n"
    "from snapshots_and_traces.snapshots.loading import child; child(*sys.argv[2:])"
)


def load(path: "str | PathLike[str]", largest_bytes: int = LARGEST_BYTES) -> Snapshot:
    """The snapshot in a file that `_dump_snapshot` wrote; nothing in the file is ever run.

    Raises: SnapshotError, a ValueError with one sentence, for a file that is anything else, or
    takes too much memory or time; OSError where there is no file to read.
    """
    path = Path(path)
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        if size > largest_bytes:
            raise SnapshotError(
                f"{path.name} is refused: it has {size:,} bytes, over the limit of "
                f"{largest_bytes:,}; where you trust it and have the memory, pass a larger "
                "`largest_bytes`."
            )
        file.seek(0)
        return _apart({"stdin": file}, size, path.name)


def loads(data: bytes, name: str) -> Snapshot:
    """The snapshot in the bytes of such a file. Raises: SnapshotError as `load` does."""
    return _apart({"input": data}, len(data), name)


def _apart(source: dict[str, Any], size: int, name: str) -> Snapshot:
    """Has another process read a file of that size."""
    memory = int(max(LEAST_MEMORY, MEMORY_PER_BYTE * size))
    seconds = int(LEAST_SECONDS + SECONDS_PER_BYTE * size)
    path = [str(Path(__file__).resolve().parents[2]), *sys.path]
    command = [sys.executable, "-I", "-S", "-c", PROGRAM, json.dumps(path)]
    own = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [*command, str(size), str(memory), str(seconds)],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=own, **source,
    )  # fmt: skip
    if done.stdout[:1] == READ and done.returncode == 0:
        return unpacked(done.stdout[1:], name)
    if done.stdout[:1] == REFUSED:
        raise SnapshotError(f"{name} is refused: {done.stdout[1:].decode()}")
    raise SnapshotError(f"{name} is refused: {_why(done.returncode, memory, seconds)}")


def _why(code: int, memory: int, seconds: int) -> str:
    if os.name == "posix" and code in (-signal.SIGXCPU, -signal.SIGKILL):
        return f"reading its few values takes over {seconds} s of a processor."
    return f"it ended the process that read it, with status {code}."


def child(size: str, memory: str, seconds: str) -> None:
    """The other process: it reads its standard input, and writes one answer."""
    limit(int(memory), int(seconds))
    gc.disable()
    try:
        answer = READ + packed(snapshot_of(safe_pickle.read_file(sys.stdin.buffer), int(size)))
    except SnapshotError as problem:
        answer = REFUSED + str(problem).encode()
    except MemoryError:
        answer = REFUSED + f"reading it takes over {int(memory) / 1e9:.1f} GB of memory.".encode()
    except Exception as problem:  # settings can be anything, and each failure means the same
        answer = REFUSED + f"it isn't plain data ({type(problem).__name__}).".encode()
    sys.stdout.buffer.write(answer)
    sys.stdout.flush()
    os._exit(0)  # to let go of a million objects one by one takes a second


def limit(memory: int, seconds: int) -> None:
    """Limits this process to so many bytes and CPU seconds, where the system can."""
    try:
        import resource
    except ImportError:  # Windows
        return
    for what, most in (
        (resource.RLIMIT_DATA, memory), (resource.RLIMIT_CPU, seconds), (resource.RLIMIT_CORE, 0),
    ):  # fmt: skip
        hard = resource.getrlimit(what)[1]
        if hard == resource.RLIM_INFINITY or most <= hard:
            resource.setrlimit(what, (most, hard))


def packed(snapshot: Snapshot) -> bytes:
    """A snapshot as MessagePack; its settings, which may hold anything, as a pickle in it."""
    traces = tuple(replace(trace, stacks=Stacks()) for trace in snapshot.traces)  # once is enough
    settings = {"pickle": pickle.dumps(snapshot.settings)}
    plain = replace(snapshot, traces=traces, settings=settings)
    return msgspec.msgpack.encode(plain, enc_hook=_as_plain_data)


def unpacked(data: bytes, name: str) -> Snapshot:
    """The snapshot that was packed."""
    found = msgspec.msgpack.decode(data, type=Snapshot, dec_hook=_from_plain_data)
    traces = tuple(replace(trace, stacks=found.stacks) for trace in found.traces)
    settings = safe_pickle.read(found.settings["pickle"])
    return replace(found, name=name, traces=traces, settings=settings)


def _as_plain_data(value: np.ndarray | Stacks) -> tuple[Any, Any]:
    if isinstance(value, Stacks):
        return value.frames, value.stacks
    return value.dtype.str, value.tobytes()


def _from_plain_data(kind: type, value: Any) -> np.ndarray | Stacks:
    first, second = value
    if kind is Stacks:
        return Stacks([Frame(*frame) for frame in first], [tuple(stack) for stack in second])
    return np.frombuffer(second, first)
