"""Measures memory on a real GPU, for comparison with what was counted and predicted.

Each measurement is made in a process of its own: what ran there before (cached segments, cuBLAS's
workspaces, another model) would change the answer.
"""

import gc
import os
from collections.abc import Callable, Mapping
from typing import Any
from unittest import mock

import torch

from course_utils.memory.fresh_process import in_a_fresh_process
from course_utils.memory.prediction import Build

SETTINGS = ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF")
FOR_THE_CONTEXT = 10**9  # bytes; what a card must have besides what torch reserves, at least
Row = dict[str, Any]


def emptied() -> int:
    """Gives back what this process can do without on its GPU; the bytes that are still allocated.

    cuBLAS keeps a workspace for each thread that ever multiplied (32 MiB on Hopper); it takes a
    new one at that thread's next product. The peaks begin anew.
    """
    gc.collect()
    torch.cuda.synchronize()
    torch._C._cuda_clearCublasWorkspaces()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    return torch.cuda.memory_allocated()


def measured_on_gpu(build: Build, steps: int = 3) -> dict[str, int]:
    """Bytes: `allocated` and `reserved` at their peaks, and `outside` of torch's allocator.

    `build` and `steps` are those of `predict_bytes`; `build` must be a function or method of a
    module, so that a new process can find it. `outside` is what the process takes on the device
    besides what torch reserves: the context and libraries; another program that begins or ends
    meanwhile makes it wrong. Raises: RuntimeError without a CUDA GPU, or where allocator
    settings are in the environment, which would make it another allocator; what the step itself
    raises.
    """
    _require_gpu()
    for name in SETTINGS:
        if os.environ.get(name):
            raise RuntimeError(
                f"{name}={os.environ[name]} changes the allocator that is predicted: start again "
                f"without {name}"
            )
    return in_a_fresh_process(_measure, build, steps, torch.cuda.mem_get_info())


def context_on_gpu(runs: Mapping[str, Callable[[], Any]]) -> list[Row]:
    """For each run, one after the other in one new process: what it left in use on the GPU.

    `mb` are megabytes (10**6 bytes) besides what torch reserved, which are `reserved_mb`. `runs`
    maps words to functions of a module. Without a GPU there is no row.
    """
    if not torch.cuda.is_available():
        return []
    return in_a_fresh_process(_outside_after, dict(runs), torch.cuda.mem_get_info())


def reserved_on_gpu(run: Callable[[torch.device], Any], settings: str = "") -> int:
    """The most bytes that torch's allocator had reserved during `run(device)`, in a new process.

    `settings` is what PYTORCH_ALLOC_CONF says there; `run` is a function of a module. Raises:
    RuntimeError without a CUDA GPU.
    """
    _require_gpu()
    with mock.patch.dict(os.environ):
        for name in SETTINGS:
            os.environ.pop(name, None)
        if settings:
            os.environ[SETTINGS[0]] = settings
        return in_a_fresh_process(_reserved, run, forked=False)  # a fork has its server's settings


def refusal_on_gpu(run: Callable[[torch.device], Any], limit: int) -> str:
    """Returns torch's error, in a new process, where `run(device)` wants over `limit` bytes.

    Empty if that is enough. `run` is a function of a module. Raises: RuntimeError without a CUDA
    GPU; what else `run` raises.
    """
    _require_gpu()
    return in_a_fresh_process(_refused, run, limit)


def fits_here(predicted_bytes: int) -> bool:
    """Whether a GPU is there with room for that many reserved bytes, and for a context."""
    if not torch.cuda.is_available():
        return False
    free, _ = torch.cuda.mem_get_info()
    return predicted_bytes + FOR_THE_CONTEXT < free


def first_tensor() -> None:
    """One number on the GPU: torch makes its context, and asks for its first segment."""
    torch.zeros(1, device="cuda")


def first_product() -> None:
    """One product: cuBLAS is loaded, and takes a workspace from torch's allocator."""
    ones = torch.ones(8, 8, device="cuda")
    ones @ ones


def _require_gpu() -> None:
    if not torch.cuda.is_available():
        raise RuntimeError("there is no CUDA GPU here to measure on; `predict_bytes` needs none")


def _reserved(run: Callable[[torch.device], Any]) -> int:
    alive = run(torch.device("cuda"))
    torch.cuda.synchronize()
    del alive
    return torch.cuda.max_memory_reserved()


def _refused(run: Callable[[torch.device], Any], limit: int) -> str:
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction(limit / total)
    try:
        run(torch.device("cuda"))
    except torch.OutOfMemoryError as error:
        return str(error)
    return ""


def _outside(before: tuple[int, int]) -> int:
    """Bytes of the device in use now and not before, besides those that torch has reserved."""
    torch.cuda.synchronize()
    free, _ = torch.cuda.mem_get_info()
    outside = before[0] - free - torch.cuda.memory_reserved()
    if outside < 0:
        raise RuntimeError("another program freed memory of this GPU meanwhile: measure it alone")
    return outside


def _outside_after(runs: dict[str, Callable[[], Any]], before: tuple[int, int]) -> list[Row]:
    rows: list[Row] = []
    for what, run in runs.items():
        run()
        outside, reserved = _outside(before), torch.cuda.memory_reserved()
        row = {"GPU": torch.cuda.get_device_name(), "after": what}
        rows.append(row | {"mb": round(outside / 1e6, 1), "reserved_mb": round(reserved / 1e6, 1)})
    return rows


def _measure(build: Build, steps: int, before: tuple[int, int]) -> dict[str, int]:
    device = torch.device("cuda")
    with device:
        _model, _optimizer, step = build(device)
    for _ in range(steps):
        step()
    return {
        "outside": _outside(before),
        "allocated": torch.cuda.max_memory_allocated(),
        "reserved": torch.cuda.max_memory_reserved(),
    }
