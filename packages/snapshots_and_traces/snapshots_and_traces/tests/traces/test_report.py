"""A trace in words: what it is, where the time went, and where to look first."""

import pytest

from snapshots_and_traces.tests.support.traces import LOADER, call, launched, note, op, read, span
from snapshots_and_traces.traces.findings import ABOVE, findings
from snapshots_and_traces.traces.reading import TraceError
from snapshots_and_traces.traces.report import summary

STEP = note("ProfilerStep#3", 0, 100)
GPU = {
    "deviceProperties": [{"name": "Tesla V100"}],
    "distributedInfo": {"rank": 1, "world_size": 2},
}


def said(path, *events, **options):
    return summary(read(path, events, **GPU), **options)


def test_every_figure_stands_with_its_unit(tmp_path):
    events = [
        STEP, op("aten::mm", 0, 50), op("aten::relu", 58, 6), *launched(1, 0, 10, 10, "gemm"),
        *launched(2, 60, 65, 5, "void relu<float, 4>(int)"),
        *launched(3, 2, 15, 15, "ncclDevKernel_AllReduce", stream=9),
        {"ph": "i", "name": "[memory]", "args": {"Total Allocated": 1_500_000, "Device Id": 0}},
    ]  # fmt: skip
    assert said(tmp_path, *events).splitlines() == [
        "9 events of rank 1 of 2, on GPU 0 (Tesla V100), in 100 µs.",
        "1 step, ProfilerStep#3, of 100 µs on the host.",
        "GPU 0: kernels ran in 25 µs of the 100 µs of the steps (25%).",
        "     15 µs  15%  computing",
        "     10 µs  10%  only communication (15 µs in all, 33% hidden behind computing)",
        "     75 µs  75%  idle, launched too late",
        "Launched and not yet begun: 0.3 on average, none in 80% of the time.",
        "Kernels by their time:",
        "     15 µs  1 × ncclDevKernel_AllReduce",
        "     10 µs  1 × gemm",
        "      5 µs  1 × relu<float, 4>(int)",
        "Critical path: the host in operators and calls 56%; the host outside operators 44%.",
        "Operators by their own time on the host:",
        "     50 µs  1 × aten::mm",
        "      6 µs  1 × aten::relu",
        "Memory: at most 1.5 MB allocated on GPU 0.",
        "Look first at the launches: torch.compile, CUDA graphs, fused optimizers, larger batches "
        "(idle, launched too late: 75% of the time, aten::relu).",
        "Then at the messages, 100% of the exposed time not launched by autograd: "
        "start them before their result is needed (only communication: 10% of the time, "
        "ncclDevKernel_AllReduce).",
    ]  # fmt: skip


def test_there_is_a_line_for_each_step_and_for_a_second_gpu_the_busier_first(tmp_path):
    second = [note("ProfilerStep#4", 100, 100), *launched(2, 100, 110, 50)]
    lines = said(tmp_path, STEP, *launched(1, 0, 10, 90), *second, by_step=True).splitlines()
    assert "  ProfilerStep#3, 100 µs: 90% computing; 10% idle, launched too late" in lines
    assert "  ProfilerStep#4, 100 µs: 50% computing; 50% idle, launched too late" in lines
    without = said(tmp_path, *launched(1, 0, 10, 90), by_step=True)
    assert "By step" not in without, "no heading without steps"
    events = [*launched(1, 0, 10, 10), *launched(2, 1, 10, 60, device=1)]
    lines = said(tmp_path, *events).splitlines()
    assert lines[0].startswith("4 events of rank 1 of 2, on GPU 0 (Tesla V100), GPU 1, in")
    assert lines[2].startswith("GPU 1: kernels ran in 60 µs")
    assert any(line.startswith("GPU 0: kernels ran in 10 µs") for line in lines[3:])
    ranks = [span("user_annotation", "ProfilerStep#1", 0, 100 * pid, pid=pid) for pid in (1, 9)]
    steps = said(tmp_path, *ranks, op("aten::mm", 0, 50), *launched(1, 0, 10, 10)).splitlines()[1]
    both = "2 steps, ProfilerStep#1 of process 1 to ProfilerStep#1 of process 9"
    assert steps.startswith(both)


@pytest.mark.parametrize("cause", ABOVE)
def test_each_cause_is_named_above_its_share_and_not_at_it(cause, tmp_path):
    trace = read(tmp_path, [*launched(1, 0, 2, 98, "gemm"), *launched(2, 1, 100, 9, "relu")])
    above, rest = ABOVE[cause] + 0.01, 1 - ABOVE[cause]
    first = findings(trace, 0, {cause: above, "computing": rest - 0.01})[0]
    assert (first.cause, first.share) == (cause, pytest.approx(above)) and first.words
    at = findings(trace, 0, {cause: ABOVE[cause], "computing": rest})
    assert [(one.cause, one.where) for one in at] == [("longest", "gemm")]


@pytest.mark.parametrize(
    "parts, causes",
    [
        (
            {"computing": 30, "launching": 20, "communication": 30, "copying": 12, "data": 8},
            ["communication", "launching", "copying"],
        ),
        ({"computing": 84, "data": 11, "copying": 4}, ["data"]),
        ({"computing": 41, "launching": 14, "data": 9, "copying": 9, "loading": 9}, ["launching"]),
    ],
    ids=["at most three", "none below 5%", "many small ones"],
)
def test_the_largest_causes_come_first(parts, causes, tmp_path):
    trace = read(
        tmp_path, launched(1, 0, 10, 90) + launched(2, 3, 4, 2, "Memset", cat="gpu_memset")
    )
    assert [one.cause for one in findings(trace, 0, parts)][: len(causes)] == causes


def test_a_name_can_do_nothing_to_a_terminal(tmp_path):
    bad = "\x1b[2J\ud800\n" + "x" * 10**6
    events = [note(f"ProfilerStep#1{bad}", 0, 40), op(bad, 0, 9), *launched(1, 0, 10, 20, bad)]
    trace = read(tmp_path, events, deviceProperties=[{"name": bad}])
    lines = summary(trace, by_step=True).splitlines()
    assert all(line.isprintable() and len(line) < 300 for line in lines) and len(lines) < 24


def test_without_a_gpu_the_host_is_what_is_told(tmp_path):
    events = [STEP, op("aten::mm", 0, 60), note(LOADER, 60, 20), op("aten::mm", 80, 20)]
    lines = summary(read(tmp_path, events)).splitlines()
    assert lines[0] == "4 events, without a GPU, in 100 µs."
    assert lines[3:5] == ["     20 µs  20%  waiting for a DataLoader", "     80 µs  80%  operators"]
    assert lines[-1].startswith("Look first at the input: more workers")

    busy = summary(read(tmp_path, [op("aten::mm", 0, 75), op("aten::add", 75, 25)]))
    assert busy.endswith("Look first at what takes longest (aten::mm: 75% of the time).")
    with pytest.raises(TraceError, match=r"was it torch\.profiler"):
        summary(read(tmp_path, [span("browser", "paint", 0, 5), call("cudaX", 1, 1)]))
