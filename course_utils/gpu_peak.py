"""The peak of a training step as a GPU has it, to stand beside what `predict` says.

Each is measured in a process of its own: what ran there before (cached segments, cuBLAS's
workspaces, another model) would change the answer.
"""

import gc
import os
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any
from unittest import mock

import torch

from course_utils.bars import bar
from course_utils.predict import Build

SETTINGS = ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF")


def measured_on_gpu(build: Build, steps: int = 3) -> dict[str, int]:
    """Bytes: `allocated` and `reserved` at their peaks, and `outside` of torch's allocator.

    `build` and `steps` are those of `predict`; `build` must be a function or method of a module,
    so that a new process can find it. `outside` is what the process takes on the device besides
    what torch reserves: the context and libraries. Errors: RuntimeError
    without a CUDA GPU, or where allocator settings are in the environment, which would make it
    another allocator; what the step itself raises.
    """
    if not torch.cuda.is_available():
        raise RuntimeError("there is no CUDA GPU here to measure on; `predict` needs none")
    for name in SETTINGS:
        if os.environ.get(name):
            raise RuntimeError(
                f"{name}={os.environ[name]} changes the allocator that is predicted: start again "
                f"without {name}"
            )
    return _in_a_fresh_process(_measure, build, steps, torch.cuda.mem_get_info())


def reserved_on_gpu(run: Callable[[torch.device], Any], settings: str = "") -> int:
    """The most bytes that torch's allocator had reserved during `run(device)`, in a new process.

    `settings` is what PYTORCH_ALLOC_CONF says there; `run` is a function of a module. Errors:
    RuntimeError without a CUDA GPU.
    """
    if not torch.cuda.is_available():
        raise RuntimeError("there is no CUDA GPU here to measure on")
    with mock.patch.dict(os.environ, dict.fromkeys(SETTINGS, settings)):
        return _in_a_fresh_process(_reserved, run)


def knobs_on_gpu(
    run: Callable[[torch.device], Any], predicted: Mapping[str, int]
) -> list[dict[str, Any]]:
    """A row for each allocator setting ("default" for none): reserved as predicted, and on a GPU.

    `predicted` maps settings to bytes. Without a GPU there is no row.
    """
    if not torch.cuda.is_available():
        return []
    return [
        {
            "setting": name,
            "predicted_reserved_bytes": n_bytes,
            "reserved_bytes": reserved_on_gpu(run, "" if name == "default" else name),
        }
        for name, n_bytes in bar(predicted.items(), "settings")
    ]


def _in_a_fresh_process(function: Callable[..., Any], *arguments: Any) -> Any:
    with ProcessPoolExecutor(1, get_context("spawn")) as fresh:
        return fresh.submit(function, *arguments).result()


def _reserved(run: Callable[[torch.device], Any]) -> int:
    alive = run(torch.device("cuda"))
    torch.cuda.synchronize()
    del alive
    return torch.cuda.max_memory_reserved()


def _measure(build: Build, steps: int, before: tuple[int, int]) -> dict[str, int]:
    gc.collect()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    device = torch.device("cuda")
    with device:
        _model, _optimizer, step = build(device)
        for _ in range(steps):
            step()
    torch.cuda.synchronize()
    free, total = torch.cuda.mem_get_info()
    taken_by_others = before[1] - before[0]
    return {
        "allocated": torch.cuda.max_memory_allocated(),
        "reserved": torch.cuda.max_memory_reserved(),
        "outside": total - free - torch.cuda.memory_reserved() - taken_by_others,
    }
