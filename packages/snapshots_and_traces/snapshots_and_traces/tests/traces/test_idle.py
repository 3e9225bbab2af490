"""Why a device was idle: each cause in a trace written for it, to the microsecond."""

import pytest

from snapshots_and_traces.tests.support.traces import (
    LOADER,
    call,
    launched,
    micro,
    note,
    op,
    read,
    span,
)
from snapshots_and_traces.traces.idle import breakdown, idle_times

BEFORE = launched(1, 0, 10, 10)  # launched in the window's first 10 µs, computes to 20
LATE = launched(2, 60, 65, 5)  # launched when nothing was left to do
LATER = launched(2, 360, 365, 5)
SYNC = call("cudaStreamSynchronize", 3, 19)  # waits 17 µs, and returns 2 after the device is idle
PAGEABLE = launched(9, 12, 22, 4, "Memcpy DtoH (Device -> Pageable)", cat="gpu_memcpy")
PAGEABLE[0]["dur"] = 16  # waits for the copy's end, 14 µs, and returns 2 µs later
ELSEWHERE = {**call("cudaLaunchKernel", 0, 2, 2), "pid": 200}
STEP = note("ProfilerStep#1", 0, 370)


def waited(name, *events):
    return [call(name, 3, 19), *(events or LATE)]


def other_thread(event):
    return {**event, "tid": 9}


@pytest.mark.parametrize(
    "events, causes",
    [
        (LATE, {"launching": 55}),
        (launched(2, 19, 24, 6), {"launching": 14}),
        (launched(2, 5, 25, 5), {"launching": 10, "other": 5}),
        (waited("cudaStreamSynchronize"), {"synchronising": 2 + 17, "launching": 36}),
        (waited("hipDeviceSynchronize"), {"synchronising": 2 + 17, "launching": 36}),
        (waited("cudaMemcpy"), {"synchronising": 2 + 17, "launching": 36}),
        (waited("queueStreamSynchronize"), {"synchronising": 2 + 17, "launching": 36}),
        (waited("cudaEventQuery"), {"launching": 55}),
        ([call("cudaStreamSynchronize", 3, 13), *LATE], {"synchronising": 13, "launching": 42}),
        ([call("cudaStreamSynchronize", 30, 2), *LATE], {"synchronising": 2, "launching": 53}),
        ([*PAGEABLE, *LATE], {"copying": 4, "synchronising": 2 + 2 + 14, "launching": 33}),
        ([note(LOADER, 25, 30), SYNC, *LATE], {"data": 30, "synchronising": 15, "launching": 10}),
        ([note(LOADER, 25, 20), *LATE], {"data": 20, "launching": 35}),
        ([STEP, *LATER], {"python": 340, "launching": 15}),
        ([STEP, op("mm", 100, 50), op("mm", 251, 105), *LATER], {"python": 101, "launching": 254}),
        ([STEP, SYNC, *LATER], {"synchronising": 2 + 17, "python": 321, "launching": 15}),
        (waited("cudaMalloc"), {"allocating": 2, "launching": 53}),
        (waited("cudaFree"), {"allocating": 2 + 17, "launching": 36}),
        ([STEP, call("cudaFuncSet", 50, 250), *LATER], {"loading": 250, "launching": 105}),
        ([STEP, op("c10d::barrier", 50, 250), *LATER], {"ranks": 250, "launching": 105}),
        ([op("x", 0, 5), other_thread(note(LOADER, 21, 43)), *LATE], {"launching": 55}),
        ([op("x", 0, 5), other_thread(SYNC), *LATE], {"launching": 55}),
        (
            [*launched(7, 5, 15, 25, "ncclDevKernel_AllGather", stream=9), *LATE],
            {"communication": 20, "launching": 35},
        ),
        ([*LATE, ELSEWHERE], {"launching": 10, "other": 45}),
    ],
    ids=[
        "launched late", "a call that ends when it is idle", "launched in time",
        "a stream synchronised", "HIP", "a copy that blocks", "another maker's", "only asked",
        "a wait that ends before the kernel", "no kernel to wait for", "a pageable copy",
        "a wait and a loader", "a loader", "no operator for long", "between two operators",
        "a wait, and Python for longer", "memory taken", "memory given back", "a first use",
        "other ranks", "another thread's loader", "another thread's wait", "communication",
        "a launch that two processes claim",
    ],
)  # fmt: skip
def test_each_moment_in_which_a_device_is_idle_has_its_cause(events, causes, tmp_path):
    trace = read(tmp_path, [*BEFORE, *events])
    window = trace.window(0)
    found = breakdown(trace, 0, window)
    assert sum(found.values()) == pytest.approx(window[1] - window[0])
    found.pop("computing")
    assert {name: took for name, took in found.items() if took > 1e-12} == {
        name: micro(took) for name, took in causes.items()
    }
    idle = idle_times(trace, 0, window)
    assert idle.shares.sum(axis=1) == pytest.approx(idle.seconds)
    charged = {trace.names[trace.name[one]]: took for one, took in idle.charged.items()}
    assert sum(charged.values()) <= found["synchronising"] + found["allocating"] + 1e-12


def test_a_wait_is_charged_once_and_for_at_most_as_long_as_it_lasted(tmp_path):
    events = [*BEFORE, SYNC]  # 17 µs of waiting, then three idle times of 10, 5 and 20 µs
    events += launched(2, 25, 30, 10) + launched(3, 42, 45, 5) + launched(4, 65, 70, 5)
    idle = idle_times(read(tmp_path, events), 0, (20e-6, 75e-6))
    waits = [round(1e6 * took, 3) for took in idle.shares[:, 3]]
    assert waits == [10, 5, 4], "2 in the call, 8 + 5 + 4 charged to it"
    assert list(idle.charged.values()) == [micro(17)]


def test_what_comes_next_was_launched_after_the_window(tmp_path):
    trace = read(tmp_path, [*BEFORE, *LATE])
    found = breakdown(trace, 0, (0.0, 50e-6))
    assert found["launching"] == micro(40), "0 to 10 and 20 to 50: both waited for a launch"


def test_the_window_is_the_steps_else_the_whole_capture(tmp_path):
    trace = read(tmp_path, [*BEFORE, *LATE, op("last", 80, 20)])
    assert trace.window(0) == (0, micro(100))
    steps = [note("ProfilerStep#1", 20, 30), note("ProfilerStep#2", 50, 30)]
    events = [*BEFORE, *steps, *LATE, op("last", 80, 20)]
    assert read(tmp_path, events).window(0) == (micro(20), micro(80))
    after = [*steps, *launched(3, 75, 110, 10), *launched(4, 90, 120, 5)]
    assert read(tmp_path, [*BEFORE, *after]).window(0) == (micro(20), micro(120)), (
        "up to the end of what the steps launched"
    )
    queued = [note("ProfilerStep#1", 0, 100), *launched(3, 5, 300, 10)]
    assert read(tmp_path, queued).window(0) == (micro(300), micro(310)), (
        "the device was still at what came before"
    )
    waited_for = [op("first", 0, 1), other_thread(span("cpu_op", "x", 20, 5)), *LATE]
    assert read(tmp_path, waited_for).window(-1) == (0, micro(70))


def test_a_kernel_that_overruns_the_next_of_its_stream_is_busy_only_up_to_that(tmp_path):
    events = [*launched(1, 0, 10, 490), *LATE, *launched(3, 295, 300, 10)]
    trace = read(tmp_path, events)
    assert breakdown(trace, 0, trace.window(0))["computing"] == micro(55 + 5 + 10)
