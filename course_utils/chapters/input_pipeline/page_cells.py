"""Helpers for the page's cells: page cache, workers' memory, copies to a GPU."""

import multiprocessing
import os
import time
import warnings
from collections.abc import Callable, Iterable
from functools import partial
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import psutil

from course_utils.core import files
from course_utils.core.machine import device
from course_utils.core.measurement import Measurement
from course_utils.core.timing import measure

Batches = Callable[[Iterable[Any]], Iterable[Any]]
new_folder = files.new_folder


def prepare() -> None:
    """Keeps freed memory with the process, and forks workers where the system can fork.

    Linux' C library returns large blocks to the system when they are freed, and a step that
    allocates them again waits for page faults, until a block of nearly 32 MiB was freed (glibc's
    mallopt(3)). Only a forked worker knows a notebook's functions. More workers than cores are
    meant: torch's warning is ignored.
    """
    import torch

    torch.ones(31 * 2**20, dtype=torch.uint8)
    warnings.filterwarnings("ignore", "This DataLoader will create")
    if "fork" in multiprocessing.get_all_start_methods():
        multiprocessing.set_start_method("fork", force=True)


def settled(read: Callable[[], int]) -> int:
    """Returns `read()` once it hasn't changed for 0.3 s: by then all workers wait."""
    before, since = read(), time.perf_counter()
    while time.perf_counter() - since < 0.3:
        time.sleep(0.01)
        if (now := read()) != before:
            before, since = now, time.perf_counter()
    return before


def own_bytes(processes: Iterable[BaseProcess]) -> int:
    """Total unshared memory of these processes (USS), in bytes."""
    return sum(psutil.Process(one.pid).memory_full_info().uss for one in processes)


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


def time_ways(sent: Batches, sent_ahead: Batches) -> dict[str, Measurement]:
    """Seconds for ten batches of 256 pictures of 224 × 224 (39 MB each) with a step for each, by
    how they get to the GPU.

    A step takes about as long as the copy of a pinned batch. `sent` and `sent_ahead` are the page's
    generators; "pinned" batches were pinned beforehand, except where the loop pins them.
    """
    import torch
    from torch.utils.data import DataLoader

    ready: Any = [torch.ones(256, 3, 224, 224, dtype=torch.uint8) for _ in range(10)]
    pinned = [batch.pin_memory() for batch in ready]
    there = [batch.to(device()) for batch in ready]
    weight = torch.randn(2048, 2048, device=device())
    copying = measure(lambda: pinned[0].to(device(), non_blocking=True)).median
    products = max(1, round(copying / measure(lambda: torch.mm(weight, weight)).median))

    def compute(batches: Callable[[], Iterable[Any]]) -> None:
        for batch in batches():
            for _ in range(products):
                torch.mm(weight, weight)
            batch[:1].float().mean()

    ways: dict[str, Callable[[], Iterable[Any]]] = {
        "already there": lambda: there,
        "pinned, a batch ahead": lambda: sent_ahead(pinned),
        "pinned": lambda: sent(pinned),
        "pageable": lambda: sent(ready),
        "pinned in the loop": lambda: sent(batch.pin_memory() for batch in ready),
    }
    for pin in (False, True):  # a list is a dataset, too
        load = DataLoader[Any](ready, None, num_workers=2, pin_memory=pin, persistent_workers=True)
        ways[f"2 workers, pin_memory={pin}"] = partial(sent, load)
    return {way: measure(partial(compute, of), clock="host") for way, of in ways.items()}
