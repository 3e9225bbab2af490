"""From the profiler's trace of a queue's threads to the columns that a GPU's trace has."""

import re
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.profiler import ProfilerActivity, profile, schedule

from course_utils.traces.reading import read_trace
from course_utils.traces.trace import Kind, Trace
from tools.diagnosed_runs.queue_device import COPY, KERNEL, WAIT

NUMBERED = re.compile(rf"(?:({KERNEL}|{COPY}) )?(.+?)(?: n=(\d+))? #(\d+)$")
OPERATOR = re.compile("aten::")  # a message's are none: they return before it is sent
DEVICE = "0"
SWITCH_SECONDS = 1e-5  # between two threads that both want to run Python; else 5 ms


def profiled(step: Callable[[], Any], steps: int, warm_up: int, wait: Callable[[], Any]) -> Trace:
    """The trace of some steps after others; `wait` ends them."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_SECONDS)
    all_threads = torch._C._profiler._ExperimentalConfig(profile_all_threads=True)
    try:
        for _ in range(warm_up):
            step()
        wait()
        with profile(
            activities=[ProfilerActivity.CPU],
            schedule=schedule(wait=0, warmup=1, active=steps),
            experimental_config=all_threads,
        ) as profiler:
            step()
            wait()
            for _ in range(steps):
                profiler.step()
                step()
            wait()
    finally:
        sys.setswitchinterval(before)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(path))
        return as_of_a_gpu(read_trace(path))


def as_of_a_gpu(trace: Trace) -> Trace:
    """The worker's annotations as kernels and copies of device 0, the launches as runtime calls.

    Left out: what the profiler saw inside them, operators inside operators, and events of no kind.
    """
    found = [NUMBERED.match(name) for name in trace.names]
    names = [m[2] if m else name for m, name in zip(found, trace.names, strict=True)]
    kinds = {None: Kind.RUNTIME, KERNEL: Kind.KERNEL, COPY: Kind.COPY}
    of_name = np.array([kinds[m[1]] if m else Kind.OTHER for m in found])
    of_name[[name == WAIT for name in names]] = Kind.RUNTIME
    trace = _without_python(trace, of_name)
    numbers = np.array([int(m[4]) if m else -1 for m in found])[trace.name]
    sent = np.array([int(m[3]) if m and m[3] else -1 for m in found])[trace.name]
    kind = np.where(of_name[trace.name] != Kind.OTHER, of_name[trace.name], trace.kind)
    on_device = np.isin(kind, (Kind.KERNEL, Kind.COPY))
    streams = {thread: place for place, thread in enumerate(np.unique(trace.thread[on_device]))}
    host = np.isin(trace.thread, trace.thread[kind == Kind.RUNTIME])
    keep = on_device | (
        host
        & (kind != Kind.OTHER)
        & ((kind != Kind.OPERATOR) | _outermost(trace, kind == Kind.OPERATOR))
    )
    place = np.full(numbers.max() + 1, -1)
    calls = np.flatnonzero((kind == Kind.RUNTIME) & (numbers >= 0))
    place[numbers[calls]] = calls
    launch = np.where(on_device, place[numbers], -1)
    after = np.append(np.cumsum(keep) - 1, -1)
    distinct = list(dict.fromkeys(names))
    code = np.array([distinct.index(name) for name in names])
    threads = [
        (DEVICE, str(7 + streams[n])) if n in streams else thread
        for n, thread in enumerate(trace.threads)
    ]
    return replace(
        trace, name=code[trace.name][keep], kind=kind[keep], thread=trace.thread[keep],
        start=trace.start[keep], seconds=trace.seconds[keep],
        device=np.where(on_device, 0, -1)[keep], launch=after[launch[keep]], numbers=sent[keep],
        names=distinct, threads=threads, gpus=["no GPU: a second thread of a CPU"],
    )  # fmt: skip


def _without_python(trace: Trace, of_name: np.ndarray) -> Trace:
    """Kernels and copies last as long as the last operator in them, which is the work itself.

    Before it are views, and the worker's wait for the lock that lets one thread run Python.
    """
    start, seconds = trace.start.copy(), trace.seconds.copy()
    kernels = np.isin(of_name[trace.name], (Kind.KERNEL, Kind.COPY))
    operators = _outermost(trace, trace.named(OPERATOR))
    for thread in np.unique(trace.thread[kernels]):
        inside = np.flatnonzero(operators & (trace.thread == thread))
        inside = inside[np.argsort(trace.start[inside])]
        for i in np.flatnonzero(kernels & (trace.thread == thread)):
            last = np.searchsorted(trace.start[inside], trace.end[i]) - 1
            if last >= 0 and trace.start[inside[last]] >= trace.start[i]:
                start[i], seconds[i] = trace.start[inside[last]], trace.seconds[inside[last]]
    return replace(trace, start=start, seconds=seconds)


def _outermost(trace: Trace, operators: np.ndarray) -> np.ndarray:
    """Which of these operators are inside no other one of their thread."""
    found = np.zeros(len(trace.start), bool)
    which = np.flatnonzero(operators)
    order = which[np.lexsort((-trace.end[which], trace.start[which], trace.thread[which]))]
    thread, reached = -1, 0.0
    for i in order:
        if trace.thread[i] != thread or trace.start[i] >= reached:
            found[i], reached, thread = True, trace.end[i], trace.thread[i]
    return found
