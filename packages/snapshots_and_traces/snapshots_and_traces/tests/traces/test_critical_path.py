"""The critical path of traces whose path is known, of any trace at all, and of real GPUs'."""

import numpy as np
import pytest

from snapshots_and_traces.tests.support.traces import (
    LOADER,
    call,
    launched,
    micro,
    note,
    op,
    read,
    real,
    span,
)
from snapshots_and_traces.traces.critical_path import CATEGORIES, critical_path, path_in_words
from snapshots_and_traces.traces.trace import Kind, Trace


def on_path(trace, window=None, device=0):
    """What of the path took any time, and the path; its segments tile the window."""
    path = critical_path(trace, device, window)
    assert (path.begin[1:] == path.end[:-1]).all() and (path.end > path.begin).all()
    seconds = path.seconds()
    if window:
        assert (path.begin[0], path.end[-1]) == window
    assert sum(seconds.values()) == pytest.approx(path.end[-1] - path.begin[0])
    return {name: took for name, took in seconds.items() if took > 1e-12}, path


STEP = note("ProfilerStep#1", 0, 100)
MAIN = op("aten::mm", 0, 20)
KNOWN = {  # events of a step of 100 µs, and µs by category; a launch is made 5 µs before at least
    "bound by the device": (
        [MAIN, *launched(1, 5, 10, 50), *launched(2, 8, 61, 49)],
        {"python": 0, "operators": 7, "starting": 4, "computing": 89},
    ),
    "bound by launches": (
        [op("mm", 0, 90), *[e for n in range(8) for e in launched(n, 10 * n + 5, 10 * n + 10, 4)]],
        {"operators": 90, "python": 10},
    ),
    "an .item() in it": (
        [
            op("mm", 0, 10), *launched(1, 3, 8, 42), op("aten::item", 10, 50),
            call("cudaStreamSynchronize", 12, 40), op("mm", 70, 20), *launched(2, 80, 85, 20),
        ],
        {"operators": 5 + 10 + 12, "starting": 3 + 3, "computing": 42 + 15, "python": 10},
    ),
    "bound by data": (
        [note(LOADER, 0, 60), op("mm", 62, 10), *launched(1, 65, 70, 8)],
        {"data": 60, "python": 30, "operators": 10},
    ),
    "a loader that synchronises": (
        [*launched(1, 0, 5, 40), note(LOADER, 10, 80), call("cudaStreamSynchronize", 20, 30)],
        {"operators": 2, "python": 18, "data": 80},
    ),
    "a message that isn't hidden": (
        [
            MAIN, *launched(1, 5, 10, 30), *launched(3, 9, 42, 28, "ncclDevKernel", stream=20),
            *launched(2, 12, 73, 37),
        ],
        {"operators": 7, "starting": 3 + 2 + 3, "computing": 30 + 27, "communication": 28},
    ),
    "an allocation": (
        [op("mm", 0, 90), call("cudaMalloc", 10, 30)],
        {"operators": 60, "allocating": 30, "python": 10},
    ),
    "a wait for nothing known": (
        [op("mm", 0, 10), call("cudaEventSynchronize", 20, 50), *launched(1, 2, 7, 2)],
        {"operators": 10, "waiting": 50, "python": 40},
    ),
    "autograd's thread": (
        [
            op("mm", 0, 20), op("autograd::engine::evaluate_function: Mm", 25, 30, tid=2),
            op("autograd::engine::evaluate_function: Add", 60, 10, tid=2), op("adam", 80, 20),
        ],
        {"operators": 20 + 30 + 10 + 20, "python": 5 + 5 + 10},
    ),
    "a copy to pageable memory": (
        [
            *launched(1, 0, 5, 50), span("cuda_runtime", "cudaMemcpyAsync", 10, 52, correlation=2),
            span("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", 56, 4, 7, 0, device=0, stream=7,
                 correlation=2),
        ],
        {"operators": 2 + 2, "starting": 3 + 1, "computing": 50, "copying": 4, "python": 38},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", KNOWN)
def test_a_known_path_is_found_to_the_microsecond(name, tmp_path):
    events, known = KNOWN[name]
    trace = read(tmp_path, [STEP, *events])
    found, _ = on_path(trace, (0.0, 100e-6), max(trace.devices, default=-1))
    assert found == {what: micro(took) for what, took in known.items() if took}


def test_a_dependency_between_streams_is_counted_as_guessed_and_every_line_is_said(tmp_path):
    trace = read(tmp_path, [STEP, *KNOWN["a message that isn't hidden"][0]])
    said = path_in_words(trace, 0, (0.0, 100e-6))
    assert said.startswith("Critical path: computing 57%; ") and said.count("%") == 4
    assert said.endswith("(2 of 3 changes guessed).")
    _, path = on_path(trace, (20e-6, 50e-6))
    assert (path.changes, path.guessed) == (1, 1)


def test_autograds_thread_is_on_the_path_where_its_own_events_are(tmp_path):
    _, path = on_path(read(tmp_path, [STEP, *KNOWN["autograd's thread"][0]]), None, -1)
    begun, threads = path.begin * 1e6, path.thread
    assert len({*threads[(begun > 24) & (begun < 69)].tolist()}) == 1
    assert path.changes == 2


NAMES = [
    "aten::mm", LOADER, "cudaStreamSynchronize", "cudaFree", "ncclKernel", "ProfilerStep#1",
    "autograd::engine::evaluate_function", "Memcpy DtoH (Device -> Pageable)",
]  # fmt: skip
THREADS = [("1", "1"), ("1", "2"), ("2", "3"), ("0", "7"), ("0", "8")]


def any_trace(random):
    """A trace of any events at all: nothing nests, follows or is launched as it would be."""
    many = random.integers(1, 30)
    kind, thread = random.integers(0, 6, many), random.integers(0, len(THREADS), many)
    launch = np.where(kind >= Kind.KERNEL, random.integers(-1, many, many), -1)
    launch[kind[launch] != Kind.RUNTIME] = -1
    start, took = random.integers(0, 60, many) * 1e-6, random.integers(0, 30, many) * 1e-6
    name, device = random.integers(0, len(NAMES), many), np.where(kind >= Kind.KERNEL, 0, -1)
    return Trace(name, kind, thread, start, took, device, launch, np.full(many, -1), NAMES, THREADS)


@pytest.mark.parametrize("seed", range(400))
def test_of_any_trace_the_segments_tile_the_window(seed):
    random = np.random.default_rng(seed)
    trace, begin = any_trace(random), random.integers(-5, 60) * 1e-6
    for device in (-1, 0):
        _, path = on_path(trace, (begin, begin + random.integers(1, 90) * 1e-6), device)
        own = path.event >= 0
        assert (trace.thread[path.event[own]] == path.thread[own]).all()
    assert sum(critical_path(trace, 0, (begin, begin)).seconds().values()) == 0


REAL_PATHS = {  # what takes most of the path, and its share at least: what each README line says
    "ddp-resnet50-2xA100": ("operators", 0.5),  # kernels run in a quarter of the time
    "resnet-1xV100": ("computing", 0.9),  # busy in 468 of 480 ms
    "dlrm-8xA100": ("operators", 0.3),
    "alexnet-1xA100": ("operators", 0.5),
}


@pytest.mark.parametrize("name", REAL_PATHS)
def test_real_gpus_paths_are_sane(name):
    trace = real(name)
    most, share = REAL_PATHS[name]
    found, path = on_path(trace, None, trace.devices[0])
    assert max(found, key=found.get) == most
    assert found[most] > share * sum(found.values())
    using = np.isin(path.category, [list(CATEGORIES).index(c) for c in ("computing", "copying")])
    assert np.isin(trace.kind[path.event[using]], (Kind.KERNEL, Kind.COPY)).all()
