"""What nvidia-smi says of a GPU while something runs on it."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from course_utils.core.machine import nvidia_smi
from course_utils.core.timing import measure, synchronize

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
    """What nvidia-smi calls torch's current GPU, whichever of the machine's torch may use."""
    import torch

    return f"GPU-{torch.cuda.get_device_properties(torch.cuda.current_device()).uuid}"


def _run_until(fn: Callable[[], Any], done: Callable[[], bool]) -> None:
    """Calls `fn` again and again; a few calls are always queued."""
    while not done():
        for _ in range(AHEAD):
            fn()
        synchronize()
