"""Why a device was idle: each cause in a trace written for it, to the microsecond."""

import pytest

from snapshots_and_traces.tests.support.traces import LOADER, call, launched, micro, note, read
from snapshots_and_traces.traces.idle import breakdown

BEFORE = launched(1, 0, 10, 10)  # computes from 10 to 20 µs
LATE = launched(2, 60, 65, 5)  # launched when nothing was left to do
SYNC = call("cudaStreamSynchronize", 3, 19)  # ends 2 µs after the device had nothing to do
PAGEABLE = launched(9, 12, 22, 4, "Memcpy DtoH (Device -> Pageable)", cat="gpu_memcpy")
PAGEABLE[0]["dur"] = 16
ELSEWHERE = {**call("cudaLaunchKernel", 0, 2, 2), "pid": 200}


def waited(name):
    return [call(name, 3, 19), *LATE]


@pytest.mark.parametrize(
    "events, causes",
    [
        (LATE, {"computing": 15, "launching": 45}),
        (launched(2, 19, 24, 6), {"computing": 16, "launching": 4}),
        (launched(2, 5, 25, 5), {"computing": 15, "other": 5}),
        (waited("cudaStreamSynchronize"), {"computing": 15, "synchronising": 45}),
        (waited("hipDeviceSynchronize"), {"computing": 15, "synchronising": 45}),
        (waited("cudaMemcpy"), {"computing": 15, "synchronising": 45}),
        (waited("queueStreamSynchronize"), {"computing": 15, "synchronising": 45}),
        (waited("cudaEventQuery"), {"computing": 15, "launching": 45}),
        ([call("cudaStreamSynchronize", 3, 13), *LATE], {"computing": 15, "synchronising": 45}),
        ([call("cudaStreamSynchronize", 3, 11), *LATE], {"computing": 15, "launching": 45}),
        ([call("cudaStreamSynchronize", 30, 2), *LATE], {"computing": 15, "launching": 45}),
        ([*PAGEABLE, *LATE], {"computing": 15, "copying": 4, "synchronising": 41}),
        ([note(LOADER, 25, 30), SYNC, *LATE], {"computing": 15, "data": 45}),
        ([note(LOADER, 25, 20), *LATE], {"computing": 15, "launching": 45}),
        (
            [*launched(7, 5, 15, 25, "ncclDevKernel_AllGather", stream=9), *LATE],
            {"computing": 15, "communication": 20, "launching": 25},
        ),
        ([*LATE, ELSEWHERE], {"computing": 15, "other": 45}),
    ],
    ids=[
        "launched late", "a call that ends when it is idle", "launched in time",
        "a stream synchronised", "HIP", "a copy that blocks", "another maker's", "only asked",
        "clocks that differ by 4 µs", "by 6 µs", "no kernel to wait for", "a pageable copy",
        "a loader that covers the host", "a loader that doesn't", "communication",
        "a launch that two processes claim",
    ],
)  # fmt: skip
def test_each_moment_in_which_a_device_is_idle_has_its_cause(events, causes, tmp_path):
    trace = read(tmp_path, [*BEFORE, *events])
    window = trace.window(0)
    found = breakdown(trace, 0, window)
    assert sum(found.values()) == pytest.approx(window[1] - window[0])
    assert {name: took for name, took in found.items() if took > 1e-12} == {
        name: micro(took) for name, took in causes.items()
    }


def test_a_step_ends_before_what_comes_next_was_launched(tmp_path):
    trace = read(tmp_path, [*BEFORE, *LATE])
    found = breakdown(trace, 0, (0.0, 50e-6))
    assert found["launching"] == micro(40), "0 to 10 and 20 to 50: both waited for a launch"
    rest = breakdown(trace, 0, (70e-6, 90e-6))
    assert rest["other"] == micro(20), "nothing follows: nobody knows"
