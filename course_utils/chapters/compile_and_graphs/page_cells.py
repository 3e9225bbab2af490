"""Helpers for the page's cells: a cache, Inductor's text, logs."""

import logging
import os
import re
import time
import warnings
from collections.abc import Callable
from contextlib import redirect_stderr
from io import StringIO
from typing import Any
from unittest import mock

import torch
from torch import Tensor

from course_utils.chapters.compile_and_graphs.fresh_compiles import fresh, quietly
from course_utils.chapters.compile_and_graphs.native import cxx
from course_utils.core import files
from course_utils.core.machine import device

ACCESS = re.compile(r"\b((?:in|out|in_out)_ptr\d+)(?: \+ |\[)static_cast<int64_t>\(x0\b")


def first_use() -> float | None:
    """Seconds of this process's first use of `torch.compile`, imports included; prints them.

    Returns None, and prints one line on why, if `torch.compile` doesn't work here: Inductor needs
    a C++ compiler for a CPU, Triton and a capability of 7.0 for a GPU. The page's cache is in
    `build/` of the project, unless the reader named another place. Dynamo's warnings are off.
    """
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(files.ROOT / "build" / "inductor"))
    torch._logging.set_logs(all=logging.ERROR)
    try:
        # torch 2.13's inductor imports what torch deprecates
        with warnings.catch_warnings(action="ignore"):
            begin, negated = time.perf_counter(), torch.compile(torch.neg)
            if cxx() is None:
                raise RuntimeError("no C++ compiler was found")
            negated(torch.ones(8, device=device()))
            took = time.perf_counter() - begin
    except Exception as error:  # whatever a compiler, its headers or Triton may lack
        why = str(error).strip().partition("\n")[0]
        print(f"torch.compile doesn't work here ({why}): what must be compiled is skipped.")
        return None
    print(f"torch.compile's first use in this process took ≈ {took:.2g} s, imports included.")
    return took


def inductor_text(fn: Callable[..., Any], *args: Tensor, backend: str = "cpp") -> str:
    """Returns what Inductor writes for a call of a function, without compiling or running it.

    For tensors on a CPU its backend may be "triton": neither Triton nor a GPU is needed.
    """
    with quietly():
        from torch._inductor import config
        from torch._inductor.utils import fresh_cache, get_code

        unhashed = mock.patch("torch.utils._triton.triton_hash_with_backend", lambda: "")
        # get_code leaves an entry in the cache that can't be run
        with fresh_cache(), unhashed, config.patch(cpu_backend=backend):
            return str(get_code(torch.compile(fresh(fn), dynamic=False), *args)[0])


def logged(call: Callable[[], object], **artifacts: Any) -> list[str]:
    """The lines that torch logs in a call, without time and file, as with `recompiles=True`."""
    with redirect_stderr(StringIO()) as log:
        torch._logging.set_logs(**artifacts)
        call()
    torch._logging.set_logs(all=logging.ERROR)
    lines = re.findall(r"\[__\w+\] (.*\S)", log.getvalue())
    return [re.sub(r" (in|at) \S+\.py:\d+", "", line) for line in lines]


def passes_in(text: str) -> int:
    """Counts the whole tensors that the C++ loops over x0 read or write."""
    loop, found = 0, set()
    for line in text.splitlines():
        loop += bool(re.search(r"\bfor\s*\(.*\bx0=", line))
        stores = ".store(" in line or re.search(r"\] = ", line) is not None
        found |= {(loop, tensor, stores) for tensor in ACCESS.findall(line)}
    return len(found)


def first_reason(explained: Any) -> str:
    """The first line of the first reason for a break that `torch._dynamo.explain` found."""
    reasons = explained.break_reasons
    return str(reasons[0].reason).partition("\n")[0] if reasons else "–"
