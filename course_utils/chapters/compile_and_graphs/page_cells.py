"""What the page's cells need besides the lesson: a cache, Inductor's loop, a peak, a process."""

import gzip
import json
import logging
import os
import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from itertools import accumulate
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.profiler import ProfilerActivity, profile

from course_utils.chapters.compile_and_graphs import load_exported
from course_utils.chapters.compile_and_graphs.native import cxx
from course_utils.core import files
from course_utils.core.machine import device

ELSEWHERE = Path(load_exported.__file__)


def can_compile() -> bool:
    """Whether `torch.compile` works here, which it finds out; says why in a line where it doesn't.

    Inductor wants a C++ compiler for a processor, Triton and a capability of 7.0 for a GPU. It
    keeps what it compiles below `build/` of the project, unless the reader named another place,
    and Dynamo's warnings stay out of the page, which counts what they are about.
    """
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(files.ROOT / "build" / "inductor"))
    torch._logging.set_logs(all=logging.ERROR)
    try:
        if cxx() is None:
            raise RuntimeError("no C++ compiler was found")
        with warnings.catch_warnings():  # torch 2.13's inductor imports what torch deprecates
            warnings.simplefilter("ignore")
            torch.compile(torch.neg)(torch.ones(8, device=device()))
    except Exception as error:  # whatever a compiler, its headers or Triton may lack
        why = str(error).strip().partition("\n")[0]
        print(f"torch.compile doesn't work here ({why}): what must be compiled is skipped.")
        return False
    return True


def texts_that_fit() -> Tensor:
    """Up to eight random texts of 1,024 tokens, as many as GPT `small` trains on this GPU: some
    4 GB (10⁹) a text are enough for eager, compiled and captured together."""
    free, _ = torch.cuda.mem_get_info()
    return torch.randint(50257, (max(2, min(8, int(free / 4e9))), 1024))


def loop_in(written: str) -> str:
    """The C++ or Triton function in what Inductor wrote, without the Python around it."""
    found = re.search(r"r?'''\n(.*?)'''", written, re.DOTALL)
    return found[1].strip() if found else written


def peak_bytes(call: Callable[[], Any]) -> int:
    """Bytes that a call holds at its peak, beyond what was there before; called twice.

    On a GPU by the allocator's own count; without one by each allocation that the profiler saw.
    """
    call()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        call()
        torch.cuda.synchronize()
        return torch.cuda.max_memory_allocated() - before
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as seen:
        call()
    return max(accumulate(_allocations(seen)), default=0)


def readable(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of the GPT's step as a table shows what was measured: with ≈, bytes in MB (10⁶)."""
    eager = {row["texts"]: row["tokens_per_s"] for row in rows if row["way"] == "eager"}
    return [
        {
            "way": row["way"],
            "texts": row["texts"],
            "tokens/s": f"≈ {row['tokens_per_s']:,.0f}",
            "times as fast": f"≈ {row['tokens_per_s'] / eager[row['texts']]:.2f}",
            "peak, MB": f"{row['peak_bytes'] / 1e6:.2f}" if row["peak_bytes"] else "–",
        }
        for row in rows
    ]


def first_reason(told: Any) -> str:
    """The first line of the first reason for a break that `torch._dynamo.explain` found."""
    if told.break_reasons:
        return told.break_reasons[0].reason.partition("\n")[0]
    return "–" if told.graph_count else "a break in a loop: nothing is compiled"


def steps_in_words(steps: float) -> str:
    """A number of steps, or "never" for infinitely many."""
    return f"{steps:,.0f}" if steps < float("inf") else "never"


def _allocations(seen: profile) -> list[int]:
    """Bytes of each allocation, those of a release negative, in their order."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "trace.json.gz")
        seen.export_chrome_trace(str(file))
        with gzip.open(file) as text:
            events = json.load(text)["traceEvents"]
    found = [one for one in events if one.get("name") == "[memory]"]
    return [one["args"]["Bytes"] for one in sorted(found, key=lambda one: one["ts"])]


def run_elsewhere(file: Path, batch: Tensor) -> Tensor:
    """What an exported program gives for a batch in another process, which has torch alone.

    Raises: RuntimeError with the process's last line where it fails.
    """
    with tempfile.TemporaryDirectory() as folder:
        given, result = Path(folder, "given.pt"), Path(folder, "result.pt")
        torch.save(batch, given)
        done = subprocess.run(
            [sys.executable, "-I", ELSEWHERE, file, given, result],
            capture_output=True, text=True, cwd=folder, env={**os.environ, "OMP_NUM_THREADS": "1"},
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"the other process failed: {done.stderr.strip().splitlines()[-1]}")
        found: Tensor = torch.load(result)
        return found
