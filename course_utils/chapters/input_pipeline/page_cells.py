"""What the page's cells need besides the lesson: the page cache, workers' memory, a Python without
its lock, the ways to a GPU."""

import atexit
import inspect
import json
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import psutil

from course_utils.core.machine import device
from course_utils.core.measurement import Measurement
from course_utils.core.timing import OthersClock, measure

# ---- A program by itself, for a Python without its lock: times a page's function on threads.


def once(job: Callable[[int], Any], threads: int, jobs: int) -> float:
    """Seconds that `jobs` calls take on threads that are there already."""
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(job, range(threads)))
        start = time.perf_counter()
        list(pool.map(job, range(jobs)))
        return time.perf_counter() - start


if __name__ == "__main__":
    if getattr(sys, "_is_gil_enabled", lambda: True)():
        sys.exit("this build has a lock")
    asked: dict[str, Any] = json.load(sys.stdin)
    names: dict[str, Any] = {}
    exec(textwrap.dedent(asked["source"]), names)
    job, jobs = names[asked["name"]], asked["jobs"]
    print(json.dumps([min(once(job, n, jobs) for _ in range(5)) for n in asked["threads"]]))


Batches = Callable[[Iterable[Any]], Iterable[Any]]

STILL_SECONDS = 0.3
FREE_THREADED = ("python3.14t", "python3.13t")  # what such a build calls itself


def prepare() -> None:
    """Prepares the process for the page: freed memory stays with it, warnings don't come, and
    workers are forked where the system can fork.

    The C library of Linux gives large blocks back to the system when they are freed, and a step
    that takes them anew waits for the system to clear them: loading and computing by turns would
    then take longer than both alone. It stops once it has seen a block of nearly 32 MiB freed
    (glibc's mallopt(3): the threshold moves). Torch warns of more workers than cores, which the
    page means. What a notebook wrote reaches a worker by fork alone, the default on Linux.
    """
    import torch

    torch.ones(31 * 2**20, dtype=torch.uint8)
    warnings.filterwarnings("ignore", "This DataLoader will create")
    if "fork" in multiprocessing.get_all_start_methods():
        multiprocessing.set_start_method("fork", force=True)


class Watch:
    """How busy other programs have been since this was made: what a claim's `timed` asks for."""

    def __init__(self) -> None:
        self._clock = OthersClock()

    @property
    def others(self) -> float | None:
        """Processors that others took on average (1.0 is one whole core); None where the system
        doesn't tell."""
        return self._clock.cores()


def settled(read: Callable[[], int]) -> int:
    """What `read()` gives once it has given the same for 0.3 s: what workers did, when all wait."""
    before, since = read(), time.perf_counter()
    while time.perf_counter() - since < STILL_SECONDS:
        time.sleep(0.01)
        if (now := read()) != before:
            before, since = now, time.perf_counter()
    return before


def processor_seconds(work: Callable[[], Any]) -> float:
    """Seconds of a processor that one call of `work` takes in this process, all its threads in."""
    start = time.process_time()
    work()
    return time.process_time() - start


def own_bytes(processes: Iterable[BaseProcess]) -> int:
    """Bytes that these processes hold in all and that nobody shares with them (USS)."""
    return sum(psutil.Process(one.pid).memory_full_info().uss for one in processes)


def rounded(numbers: Any) -> list[float]:
    """The numbers of a tensor, two digits behind the point."""
    return [round(number, 2) for number in numbers.tolist()]


def gain_rows(gained: Mapping[str, Mapping[str, float]]) -> list[dict[str, str]]:
    """Rows of a table: a job, and how many times as fast it was in each pool."""
    return [
        {"job": job} | {pool: f"≈ {gain:.2f}" for pool, gain in by_pool.items()}
        for job, by_pool in gained.items()
    ]


def forget(paths: Iterable[Path]) -> bool:
    """Asks the system to drop these files from its page cache, so that the next read is cold.

    False where it can't be asked (only Linux can), or where files live in memory (tmpfs).
    """
    paths = list(paths)
    if not hasattr(os, "posix_fadvise") or any(map(_is_in_memory, {path.parent for path in paths})):
        return False
    os.sync()  # what isn't written yet can't be dropped
    for path in paths:
        file = os.open(path, os.O_RDONLY)
        try:
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(file)
    return True


def _is_in_memory(folder: Path) -> bool:
    mounts = {Path(one.mountpoint): one.fstype for one in psutil.disk_partitions(all=True)}
    own = next(place for place in (folder.resolve(), *folder.resolve().parents) if place in mounts)
    return mounts[own] in ("tmpfs", "ramfs")


def without_gil(job: Callable[[int], Any], jobs: int, threads: Iterable[int]) -> dict[int, float]:
    """Seconds that `jobs` calls of `job` take in a Python without its lock, by number of threads.

    `job` is a function of the page that needs nothing but its arguments; a free-threaded Python of
    PATH (python3.14t or python3.13t) runs its source. Each figure is the least of five. Empty,
    with a printed line, where there is none.
    """
    python = next(filter(None, map(shutil.which, FREE_THREADED)), None)
    threads = list(threads)
    if python is None:
        print("No free-threaded Python here (python3.14t or python3.13t): not measured.")
        return {}
    asked = {"source": inspect.getsource(job), "name": job.__name__, "jobs": jobs}
    ran = subprocess.run(
        [python, __file__], input=json.dumps(asked | {"threads": threads}),
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    if ran.returncode:
        print(f"{Path(python).name} could not run {job.__name__}: {ran.stderr.strip()[-200:]}")
        return {}
    return dict(zip(threads, json.loads(ran.stdout), strict=True))


def new_folder() -> Path:
    """A folder for this page's files, on the disk of the system's temporary files; it is deleted
    when the kernel ends."""
    folder = tempfile.mkdtemp(prefix="course-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def all_ended(seconds: float = 5) -> bool:
    """Whether every process that `multiprocessing` started here has ended, within `seconds`."""
    until = time.perf_counter() + seconds
    while multiprocessing.active_children() and time.perf_counter() < until:
        time.sleep(0.01)
    return not multiprocessing.active_children()


def time_ways(sent: Batches, sent_ahead: Batches) -> dict[str, Measurement]:
    """Seconds for ten batches of 256 pictures of 224 × 224 (39 MB, 10⁶, each) with a step for each,
    by the way they come to the GPU: already there, from pageable memory, from pinned memory, and
    from pinned memory a batch ahead. A step takes as long as the copy of a pinned batch. `sent` and
    `sent_ahead` are the page's generators.
    """
    import torch

    ready = [torch.ones(256, 3, 224, 224, dtype=torch.uint8) for _ in range(10)]
    pinned = [batch.pin_memory() for batch in ready]
    there = [batch.to(device()) for batch in ready]
    weight = torch.randn(2048, 2048, device=device())
    copying = measure(lambda: pinned[0].to(device(), non_blocking=True)).median
    products = max(1, round(copying / measure(lambda: torch.mm(weight, weight)).median))

    def compute(batches: Callable[[], Iterable[Any]]) -> None:
        for batch in batches():
            for _ in range(products):
                torch.mm(weight, weight)
            batch.float().mean()

    ways: dict[str, Callable[[], Iterable[Any]]] = {
        "already there": lambda: there,
        "pageable": lambda: sent(ready),
        "pinned": lambda: sent(pinned),
        "pinned, a batch ahead": lambda: sent_ahead(pinned),
    }
    return {way: measure(partial(compute, of), clock="host") for way, of in ways.items()}
