"""Runs a function in a process that has never seen the GPU.

Importing torch takes seconds, so where the system can fork, a server imports it once, without
touching the GPU, and each process is a fork of that: it begins without a CUDA context and has one
second to wait instead of four.
"""

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_all_start_methods, get_context
from typing import Any


def in_a_fresh_process(function: Callable[..., Any], *arguments: Any, forked: bool = True) -> Any:
    """Returns `function(*arguments)`, called in a process that has never seen the GPU.

    `forked` ones have torch imported, and the environment of the first time this was called.
    Raises: what the function raises; BrokenProcessPool where the process dies.
    """
    context = _server() if forked else get_context("spawn")
    with ProcessPoolExecutor(1, context) as fresh:
        return fresh.submit(function, *arguments).result()


@cache
def _server() -> Any:
    """The server that forks processes; starts them anew where nothing can be forked."""
    if "forkserver" not in get_all_start_methods():
        return get_context("spawn")
    context = get_context("forkserver")
    context.set_forkserver_preload(
        ["course_utils.memory.on_gpu", "course_utils.workloads.training_steps"]
    )
    return context
