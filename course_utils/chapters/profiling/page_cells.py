"""Helpers of the page's cells: a scratch file, a dataset, a clock."""

import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from course_utils.core import files
from course_utils.core.machine import nvidia_smi
from course_utils.core.timing import measure, synchronize

if TYPE_CHECKING:
    from torch import Tensor

_scratch = cache(files.new_folder)


def scratch_file(name: str) -> Path:
    """Returns a path in a folder that is deleted when the kernel exits."""
    return _scratch() / name


def sums_file() -> Path:
    """Writes the course's training samples, such as 12+34=46, to a text file: each twice, a line
    each.
    """
    from course_utils.workloads.addition import Addition, decode

    file = scratch_file("sums.txt")
    file.write_text(2 * "".join(decode(tokens).rstrip() + "\n" for tokens in Addition().train))
    return file


class SumsFile:
    """A dataset (for `torch.utils.data.DataLoader`) of a text file, one sample a line."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.count = len(path.read_text().splitlines())

    def __len__(self) -> int:
        return self.count

    def text(self, n: int) -> str:
        """Returns line `n`: it reads the whole file for each sample, which is the page's fault."""
        return self.path.read_text().splitlines()[n]

    def __getitem__(self, n: int) -> "Tensor":
        from course_utils.workloads.addition import LINE, encode

        return encode(self.text(n).ljust(LINE, "\n"))


class Clocked:
    """A loader that adds up the `seconds` that its batches took: what `next` was waited for."""

    def __init__(self, loader: Iterable[Any]) -> None:
        self.loader, self.seconds = loader, 0.0

    def __iter__(self) -> Iterator[Any]:
        begun = time.perf_counter()
        for batch in self.loader:
            self.seconds += time.perf_counter() - begun
            yield batch
            begun = time.perf_counter()


# ---- What nvidia-smi says of a GPU while something runs on it.

SECONDS = 1.5  # nvidia-smi looks back over up to a second
AHEAD = 4  # calls in the queue, so that the GPU never waits for the host
QUESTION = ("--query-gpu=utilization.gpu", "--format=csv,noheader,nounits")


def busy_by_smi(fn: Callable[[], Any]) -> dict[str, Any]:
    """Keeps torch's GPU busy with `fn()`, and asks meanwhile: `seconds`, `nvidia_smi_percent`.

    It is busy for 1.5 s before nvidia-smi is asked, and until it has answered.
    Raises: ValueError where nvidia-smi isn't there or tells no utilisation, as of a part of a GPU.
    """
    took, gpu = measure(fn, clock="device"), _gpu()
    end = time.perf_counter() + SECONDS
    _run_until(fn, lambda: time.perf_counter() > end)
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(nvidia_smi, f"--id={gpu}", *QUESTION)
        _run_until(fn, asked.done)
    said = "".join(asked.result()).strip()
    if not said.isdigit():
        raise ValueError(f"nvidia-smi tells no utilisation of {gpu}: {said[:40]!r}")
    return {"seconds": took, "nvidia_smi_percent": int(said)}


def _gpu() -> str:
    """The name that nvidia-smi gives to torch's current GPU, whichever of them torch may use."""
    import torch

    return f"GPU-{torch.cuda.get_device_properties(torch.cuda.current_device()).uuid}"


def _run_until(fn: Callable[[], Any], done: Callable[[], bool]) -> None:
    """Calls `fn` again and again; a few calls are always queued."""
    while not done():
        for _ in range(AHEAD):
            fn()
        synchronize()
