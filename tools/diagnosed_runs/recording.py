"""From the profiler's trace of a queue's threads to the columns that a GPU's trace has."""

import re
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.profiler import ProfilerActivity, profile, schedule

from course_utils.traces.cutting import only
from course_utils.traces.reading import read_trace
from course_utils.traces.trace import Kind, Trace
from tools.diagnosed_runs.queue_device import COPY, KERNEL, WAIT

NUMBERED = re.compile(rf"(?:({KERNEL}|{COPY}) )?(.+?)(?: n=(\d+))? #(\d+)$")
OPERATOR = re.compile("aten::")  # a message's are none: they return before it is sent
DEVICE, FIRST_STREAM = "0", 7  # as CUDA's profiler calls them
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
    told = _told(trace.names)
    trace = _without_python(trace, told.kind)
    kind = np.where(told.kind[trace.name] != Kind.OTHER, told.kind[trace.name], trace.kind)
    on_device = np.isin(kind, (Kind.KERNEL, Kind.COPY))
    host = np.isin(trace.thread, trace.thread[kind == Kind.RUNTIME]) & (kind != Kind.OTHER)
    inner = (kind == Kind.OPERATOR) & ~_outermost(trace, kind == Kind.OPERATOR)
    streams = np.unique(trace.thread[on_device]).tolist()
    whole = replace(
        trace,
        name=told.code[trace.name],
        kind=kind,
        device=np.where(on_device, 0, -1),
        launch=np.where(on_device, _calls(kind, told.number[trace.name]), -1),
        numbers=told.length[trace.name],
        names=told.names,
        threads=[
            (DEVICE, str(FIRST_STREAM + streams.index(n))) if n in streams else thread
            for n, thread in enumerate(trace.threads)
        ],
        gpus=["no GPU: a second thread of a CPU"],
    )
    return only(whole, on_device | (host & ~inner))


@dataclass(frozen=True)
class _Told:
    """What each name of a trace says: a place in `names`, and of what was launched the rest.

    `kind` is OTHER where the profiler's own kind holds; `number` and `length` may be -1.
    """

    names: list[str]
    code: np.ndarray
    kind: np.ndarray
    number: np.ndarray
    length: np.ndarray


def _told(names: list[str]) -> _Told:
    kinds = {None: Kind.RUNTIME, KERNEL: Kind.KERNEL, COPY: Kind.COPY}
    plain, kind, number, length = [], [], [], []
    for name in names:
        found = NUMBERED.match(name)
        plain.append(found[2] if found else name)
        kind.append(kinds[found[1]] if found else Kind.RUNTIME if name == WAIT else Kind.OTHER)
        number.append(int(found[4]) if found else -1)
        length.append(int(found[3]) if found and found[3] else -1)
    distinct, code = np.unique(plain, return_inverse=True)
    return _Told(distinct.tolist(), code, *map(np.array, (kind, number, length)))


def _calls(kind: np.ndarray, number: np.ndarray) -> np.ndarray:
    """For each event the place of the launch with its number; -1 for none."""
    place = np.full(number.max() + 2, -1)
    calls = np.flatnonzero((kind == Kind.RUNTIME) & (number >= 0))
    place[number[calls]] = calls
    return place[number]


def _without_python(trace: Trace, kind_of_name: np.ndarray) -> Trace:
    """Kernels and copies last as long as the last operator in them, which is the work itself.

    Before it are views, and the worker's wait for the lock that lets one thread run Python.
    """
    start, seconds = trace.start.copy(), trace.seconds.copy()
    kernels = np.isin(kind_of_name[trace.name], (Kind.KERNEL, Kind.COPY))
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
