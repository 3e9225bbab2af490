"""Where the time went, on traces so small that the answer can be counted by hand."""

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
from snapshots_and_traces.traces import measures

NCCL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"


@pytest.fixture
def two_streams(tmp_path):
    """µs 10–20 and 18–30 computing, 25–45 a message, 40–42 computing, 50–60 a copy."""
    return read(
        tmp_path,
        [
            *launched(1, 0, 10, 10, "gemm"), *launched(2, 3, 18, 12, "relu", stream=9),
            *launched(3, 6, 25, 20, NCCL, stream=9), *launched(4, 9, 40, 2, "gemm"),
            *launched(5, 12, 50, 10, "Memcpy HtoD", cat="gpu_memcpy"),
        ],
    )  # fmt: skip


def test_a_device_is_busy_while_any_stream_runs_a_kernel(two_streams):
    window = two_streams.window(0)
    assert window == (0, micro(60))
    assert measures.busy(two_streams, 0, window) == micro(35)
    assert measures.busy(two_streams, 0, (15e-6, 20e-6)) == micro(5)
    assert measures.busy(two_streams, 0, (45e-6, 60e-6)) == 0, "a copy is no kernel"


def test_communication_is_hidden_where_another_kernel_runs(two_streams):
    found = measures.communication(two_streams, 0, two_streams.window(0))
    assert found == (micro(20), micro(7))
    assert measures.communication(two_streams, 0, (0.0, 20e-6)) == (0, 0)


def test_the_queue_holds_what_was_launched_and_has_not_begun(two_streams):
    times, lengths = measures.launch_queue(two_streams, 0)
    assert [round(1e6 * t) for t in times] == [0, 3, 6, 9, 10, 12, 18, 25, 40, 50]
    assert lengths.tolist() == [1, 2, 3, 4, 3, 4, 3, 2, 1, 0]
    mean, empty = measures.queue_in(two_streams, 0, (12e-6, 40e-6))
    assert mean == pytest.approx((4 * 6 + 3 * 7 + 2 * 15) / 28) and empty == 0
    assert measures.queue_in(two_streams, 0, (40e-6, 80e-6)) == (micro(1e6 * 10 / 40), 0.75)


def test_kernels_are_summed_by_name_over_all_streams(two_streams):
    tops = measures.top_kernels(two_streams, 0)
    assert tops[0].name == NCCL and {one.name: one.count for one in tops}["gemm"] == 2
    assert {one.name: one.seconds for one in tops} == {
        NCCL: micro(20), "gemm": micro(12), "relu": micro(12)
    }  # fmt: skip


def test_an_operators_own_time_is_without_those_inside_it_on_its_thread(tmp_path):
    events = [
        op("linear", 0, 20), op("addmm", 2, 10), op("copy", 4, 3), op("sum", 30, 5),
        op("linear", 40, 6), op("addmm", 40, 6), op("mm", 1, 30, tid=2), call("cudaX", 5, 1),
        op("a", 100, 100), op("b", 190, 100),  # these only overlap: what they share counts once
        op("ProfilerStep#1", 0, 300),  # as an older profiler wrote a step
    ]  # fmt: skip
    trace = read(tmp_path, events)
    mine = {one.name: one for one in measures.top_operators(trace)}
    assert {name: one.seconds for name, one in mine.items()} == {
        "linear": micro(10), "addmm": micro(13), "copy": micro(3), "sum": micro(5),
        "mm": micro(30), "a": micro(90), "b": micro(100),
    }  # fmt: skip
    assert mine["linear"].count == 2 and list(trace.steps) == ["ProfilerStep#1"]


def test_the_hosts_time_is_data_operators_or_neither(tmp_path):
    events = [
        op("first", 0, 10), note(LOADER, 15, 20), op("stack", 20, 5), op("mm", 40, 10),
        op("autograd::engine::evaluate_function: Mm", 45, 15, tid=2),
        op("loaded ahead", 60, 10, tid=3), {**note(LOADER, 60, 30), "tid": 3},
        op("last", 90, 10), span("python_function", "step", 0, 100),
    ]  # fmt: skip
    parts = measures.host_breakdown(read(tmp_path, events))
    assert parts == {"data": micro(20), "operators": micro(40), "python": micro(40)}
