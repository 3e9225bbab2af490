"""Traces written by hand: events as Kineto writes them, in µs, and the folder of real ones."""

import gzip
import json
from pathlib import Path

import pytest

from snapshots_and_traces.traces.reading import read_trace

LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
REAL = Path(__file__).resolve().parents[6] / "shared" / "traces"


def real(name):
    """A real GPU's trace; skips the test where the folder isn't."""
    if not REAL.exists():
        pytest.skip("the folder ../shared/traces isn't here")
    return read_trace(REAL / f"{name}.json.gz")


def span(cat, name, ts, dur, tid=1, pid=100, **args):
    event = {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur}
    return {**event, "args": args}


def op(name, ts, dur, tid=1):
    return span("cpu_op", name, ts, dur, tid)


def note(name, ts, dur):
    return span("user_annotation", name, ts, dur)


def call(name, ts, dur, correlation=None):
    found = {} if correlation is None else {"correlation": correlation}
    return span("cuda_runtime", name, ts, dur, **found)


def launched(correlation, called, ts, dur, name="gemm", stream=7, cat="kernel", device=0):
    """A launch of 2 µs, and what it launched."""
    where = {"device": device, "stream": stream, "correlation": correlation}
    launch = call("cudaLaunchKernel", called, 2, correlation)
    return [launch, span(cat, name, ts, dur, stream, device, **where)]


def write(path, events, packed=False, **beside):
    text = json.dumps({**beside, "traceEvents": events}).encode()
    path.write_bytes(gzip.compress(text) if packed else text)
    return path


def read(path, events, **beside):
    return read_trace(write(path / "trace.json", events, **beside))


def micro(seconds):
    return pytest.approx(seconds / 1e6, abs=1e-12)


def training(steps):
    """A run of such steps, of 1 ms and 40 launches each: loader, layers, messages, a wait."""
    events, free = [], 0
    for step in range(steps):
        begun, calls = 1000 * step, range(40 * step, 40 * step + 40)
        events += [note(f"ProfilerStep#{step}", begun, 1000), note(LOADER, begun, 100)]
        for place, correlation in enumerate(calls):
            at, took = begun + 110 + 20 * place, 5 + correlation * 7 % 23
            free = max(free, at + 12)
            events += [op("aten::linear", at, 18), op("aten::addmm", at + 2, 14)]
            events += launched(correlation, at + 4, free, took, f"gemm<{correlation % 7}>")
            free += took
        called = 10**6 + step
        events += launched(called, begun + 920, free, 40, "ncclDevKernel_AllReduce", stream=20)
        free += 30
        events.append(call("cudaStreamSynchronize", begun + 930, 60))
    return events


ODD = {  # small traces that a page and a picture must stand
    "an instant": [op("aten::mm", 0, 0)],
    "a kernel before its launch": launched(1, 30, 10, 5),
    "copies alone": [
        op("aten::copy_", 0, 9), *launched(1, 2, 5, 9, stream="$x^2$\u202e", cat="gpu_memcpy")
    ],
    "many threads": [
        op(f"$deep$_{place}", place, 200 - 2 * place, place % 40) for place in range(60)
    ],
}  # fmt: skip
