"""Waits, timed: a chain of reads on a GPU, a disk, a message to oneself, a process.

What a system can't do or doesn't tell is None; nothing is left behind.
"""

import os
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from course_utils.core.measurement import Measurement
from course_utils.core.timing import measure, measure_rounds, seconds

if TYPE_CHECKING:
    import torch

STEPS = 20_000
LINE = 16  # 8-byte numbers in a line of a GPU's cache, 128 bytes
KEY = 20_011  # only a thread that was given it follows the table's address
CHASE = """
template <typename T> T chase(T at, T table, T key) {
    if (key != KEY) return at;
    const T* next = reinterpret_cast<const T*>(table);
    for (int step = 0; step < STEPS; step++) at = next[at];
    return at;
}
""".replace("STEPS", str(STEPS)).replace("KEY", str(KEY))
PAGE = 4096
FILE_BYTES = 16 * 2**20
READS = 50
ECHO = """
import socket
with socket.create_server(("127.0.0.1", 0)) as server:
    print(server.getsockname()[1], flush=True)
    peer, _ = server.accept()
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while said := peer.recv(1):
        peer.sendall(said)
"""


def ring(n_bytes: int, stride: int, device: "torch.device | str" = "cpu") -> "torch.Tensor":
    """A table of 8-byte numbers: one in each `stride` is the place of the next, the others are 0.

    next = (1664525 · place + 12345) mod n has the full period (Hull and Dobell 1962), and its
    steps are foreseen by no prefetcher.
    Raises: ValueError unless `n_bytes` is a power of two, with room for eight places or more.
    """
    import torch

    n, least = n_bytes // (8 * stride), 64 * stride
    if n_bytes < least or n_bytes & (n_bytes - 1):
        raise ValueError(f"a chain wants a power of two of bytes, {least:,} or more: {n_bytes}")
    table = torch.zeros(n, stride, dtype=torch.int64, device=device)
    table[:, 0] = stride * ((torch.arange(n, device=device) * 1_664_525 + 12_345) & (n - 1))
    return table.flatten()


def gpu_chain_step(n_bytes: int) -> Measurement | None:
    """Seconds of a step along a chain through `n_bytes` of the GPU's memory, by one of its threads.

    None, and a printed sentence, where this torch can't compile a kernel of one's own (its
    jiterator, which needs no CUDA toolkit). The table has been read by the whole GPU before, so
    its L2 cache has what fits.
    """
    import torch

    table = ring(n_bytes, LINE, "cuda")
    address, key = torch.tensor([[table.data_ptr()], [KEY]], device="cuda")
    place = torch.zeros_like(address)
    chase = torch.cuda.jiterator._create_jit_fn(CHASE)

    def follow() -> None:
        nonlocal place
        place = chase(place, address, key)

    try:
        follow()
    except (AttributeError, AssertionError, RuntimeError) as error:
        said = (str(error).splitlines() or [""])[0]
        print(f"This torch compiles no kernels of one's own ({said:.100}): no chain here.")
        return None
    table.sum()
    return measure(follow, clock="device", budget_seconds=0.05).per(STEPS)


def gpu_chain(sizes: Sequence[int]) -> dict[int, Measurement]:
    """`gpu_chain_step` by bytes of the table; empty where this torch can't compile the kernel."""
    steps: dict[int, Measurement] = {}
    for n_bytes in sizes:
        step = gpu_chain_step(n_bytes)
        if step is None:
            break
        steps[n_bytes] = step
    return steps


def beyond_memory() -> dict[str, Measurement]:
    """Seconds of four waits beyond memory, by name; one that can't be had here is left out."""
    reads = disk_reads()
    found = {
        "4 KiB, from the page cache": reads["page cache"],
        "4 KiB, from the disk": reads["disk"],
        "message to a process and back": loopback_message(),
        "start of a Python": process_start(),
    }
    return {what: took for what, took in found.items() if took is not None}


def loopback_message() -> Measurement | None:
    """Seconds of a byte over TCP to another process of this machine, and back."""
    try:
        with _echo() as ask:
            return measure(ask, budget_seconds=0.1, clock="host")
    except (OSError, ValueError):
        return None


@contextmanager
def _echo() -> Iterator[Callable[[], object]]:
    """A function that sends a byte to a process, which sends it back and ends with the block.

    Raises: OSError or ValueError where one of the two can't open a socket.
    """
    command, pipe = [sys.executable, "-I", "-S", "-c", ECHO], subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=subprocess.DEVNULL, text=True) as echo:
        assert echo.stdout
        late = threading.Timer(20, echo.kill)  # then the line below is empty
        late.start()
        try:
            address = ("127.0.0.1", int(echo.stdout.readline()))
            late.cancel()
            with socket.create_connection(address, timeout=20) as peer:
                peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                yield lambda: peer.recv(peer.send(b"?"))
        finally:
            echo.kill()


def process_start() -> Measurement:
    """Seconds of starting a Python that does nothing, until it has ended."""
    command = [sys.executable, "-I", "-S", "-c", "pass"]
    return measure_rounds(
        lambda: {"start": seconds(lambda: subprocess.run(command, check=True))}, 7
    )["start"]


def disk_reads(folder: str | None = None) -> dict[str, Measurement | None]:
    """Seconds of reading 4 KiB at random places of a file, by who answers.

    "page cache": the kernel's copy in memory. "disk": what is left when that copy was dropped
    (POSIX_FADV_DONTNEED); each page is first asked for without waiting (RWF_NOWAIT), and one that
    is there nevertheless isn't counted. None where the system has no such calls, or where the page
    cache answers whatever we do, as in memory-backed folders. What a drive, or the host of a
    virtual machine, keeps in a memory of its own can't be told from a disk.
    """
    with suppress(OSError), tempfile.TemporaryFile(dir=folder) as file:
        file.write(os.urandom(FILE_BYTES))
        file.flush()
        os.fsync(file.fileno())
        cached = _reads(file.fileno(), dropped=False)
        return {"page cache": cached, "disk": _reads(file.fileno(), dropped=True)}
    return {"page cache": None, "disk": None}


def _reads(file: int, dropped: bool) -> Measurement | None:
    """None where fewer than half of the pages could be timed."""
    if not hasattr(os, "pread") or (dropped and not _can_ask()):
        return None
    if dropped:
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)  # no reading ahead
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    places = random.Random(0).sample(range(FILE_BYTES // PAGE), READS)
    found = [_read_seconds(file, place * PAGE, dropped) for place in places]
    times = tuple(took for took in found if took is not None)
    return Measurement(times, READS, None, "host") if len(times) > READS // 2 else None


def _read_seconds(file: int, place: int, dropped: bool) -> float | None:
    """Seconds of reading a page; None where it should have been dropped and is there all the same.

    To ask for a page without waiting begins its read, so the asking counts.
    """
    began = time.perf_counter()
    if dropped and _in_memory(file, place):
        return None
    os.pread(file, PAGE, place)
    return time.perf_counter() - began


def _can_ask() -> bool:
    return all(hasattr(os, name) for name in ("posix_fadvise", "preadv", "RWF_NOWAIT"))


def _in_memory(file: int, place: int) -> bool:
    """Whether the page cache has that byte; True where the file system won't say."""
    try:
        os.preadv(file, [bytearray(1)], place, os.RWF_NOWAIT)
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True
