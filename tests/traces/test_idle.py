"""Why a device was idle: each cause in a trace written for it, to the microsecond."""

import pytest

from course_utils.traces.idle import WAITS, breakdown
from tests.support.traces import call, launched, micro, note, read

LOADER = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
BEFORE = launched(1, 0, 10, 10)  # computes from 10 to 20 µs
LATE = launched(2, 60, 65, 5)  # launched when nothing was left to do


def causes(path, *events):
    trace = read(path, [*BEFORE, *events])
    window = trace.window(0)
    found = breakdown(trace, 0, window)
    assert sum(found.values()) == pytest.approx(window[1] - window[0])
    return {name: seconds for name, seconds in found.items() if seconds > 1e-12}


def test_what_is_launched_when_the_device_is_idle_was_launched_too_late(tmp_path):
    assert causes(tmp_path, *LATE) == {"computing": micro(15), "launching": micro(45)}


def test_a_call_that_ends_when_the_device_is_idle_is_late_as_well(tmp_path):
    launched_at_19 = launched(2, 19, 24, 6)
    found = causes(tmp_path, *launched_at_19)
    assert found == {"computing": micro(16), "launching": micro(4)}


def test_what_was_launched_in_time_waits_for_something_else(tmp_path):
    assert causes(tmp_path, *launched(2, 5, 25, 5)) == {"computing": micro(15), "other": micro(5)}


@pytest.mark.parametrize(
    "name",
    ["cudaStreamSynchronize", "cudaDeviceSynchronize", "hipDeviceSynchronize", "cudaMemcpy",
     "queueStreamSynchronize"],
)  # fmt: skip
def test_a_call_that_waited_for_the_device_is_why_the_next_came_late(name, tmp_path):
    found = causes(tmp_path, call(name, 3, 19), *LATE)
    assert found == {"computing": micro(15), "synchronising": micro(45)}


def test_the_clocks_of_host_and_device_may_differ_by_a_little(tmp_path):
    assert "synchronising" in causes(tmp_path, call("cudaStreamSynchronize", 3, 13), *LATE)
    assert "launching" in causes(tmp_path, call("cudaStreamSynchronize", 3, 11), *LATE)


def test_a_call_that_waited_for_an_earlier_kernel_or_for_none_is_not_why(tmp_path):
    asked = [call("cudaEventQuery", 3, 19), call("cudaStreamSynchronize", 30, 2)]
    assert "synchronising" not in causes(tmp_path, *asked, *LATE)


def test_a_copy_from_pageable_memory_blocks_as_item_does(tmp_path):
    copy = launched(9, 12, 22, 4, "Memcpy DtoH (Device -> Pageable)", cat="gpu_memcpy")
    copy[0]["dur"] = 16
    found = causes(tmp_path, *copy, *LATE)
    assert found == {"computing": micro(15), "copying": micro(4), "synchronising": micro(41)}


def test_a_loader_that_covers_the_host_is_why(tmp_path):
    found = causes(tmp_path, note(LOADER, 25, 30), call("cudaStreamSynchronize", 3, 19), *LATE)
    assert found == {"computing": micro(15), "data": micro(45)}
    assert "data" not in causes(tmp_path, note(LOADER, 25, 20), *LATE)


@pytest.mark.parametrize("name", ["ncclDevKernel_AllGather", "gloo:all_reduce"])
def test_only_messages_are_communication_and_beside_them_it_is_computing(name, tmp_path):
    message = launched(7, 5, 15, 25, name, stream=9)
    found = causes(tmp_path, *message, *LATE)
    assert found == {"computing": micro(15), "communication": micro(20), "launching": micro(25)}


def test_a_step_ends_before_what_comes_next_was_launched(tmp_path):
    trace = read(tmp_path, [*BEFORE, *LATE])
    found = breakdown(trace, 0, (0.0, 50e-6))
    assert found["launching"] == micro(40), "0 to 10 and 20 to 50: both waited for a launch"
    rest = breakdown(trace, 0, (70e-6, 90e-6))
    assert rest["other"] == micro(20), "nothing follows: nobody knows"
    assert set(WAITS) < set(rest)


def test_a_correlation_that_two_processes_use_says_nothing_of_who_launched(tmp_path):
    other = {**call("cudaLaunchKernel", 0, 2, 2), "pid": 200}
    assert causes(tmp_path, *LATE, other) == {"computing": micro(15), "other": micro(45)}
