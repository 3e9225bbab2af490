"""Lanes: each event once, none over another, under a name that a reader understands."""

import random
from itertools import pairwise

import numpy as np

from snapshots_and_traces.tests.support.traces import call, launched, note, op, read, span
from snapshots_and_traces.trace_viewer.lanes import lanes, rows


def test_of_any_intervals_each_stands_once_and_overlaps_none_of_its_row():
    draw = random.Random(3)
    for _ in range(200):
        start = np.array([draw.randrange(30) for _ in range(draw.randrange(1, 25))], float)
        end = start + [draw.choice((0, 1, 2, 5, 30)) for _ in start]
        found = rows(start, end, np.arange(len(start)))
        assert sorted(np.concatenate(found).tolist()) == list(range(len(start)))
        for row in found:
            assert (start[row][1:] >= end[row][:-1]).all()
        for above, below in pairwise(found):
            for i in below:
                overlaps = (start[above] <= start[i]) & (end[above] > start[i])
                assert overlaps.any(), "each deeper one began inside one of the row above"


def test_lanes_are_called_by_what_they_are_and_stand_in_order(tmp_path):
    events = [
        op("autograd::engine::evaluate_function: MmBackward0", 0, 10, tid=-7),
        call("cudaEventQuery", 0, 1) | {"tid": 3},
        op("aten::mm", 0, 10, tid=100), note("ProfilerStep#1", 0, 20) | {"tid": 100},
        *launched(1, 5, 10, 5, stream=20), *launched(2, 15, 20, 5, stream=7),
        span("overhead", "Context Sync", 0, 5, tid=-1, pid=0),
        span("Trace", "PyTorch Profiler (0)", 0, 50, tid="PyTorch Profiler", pid="Spans"),
    ]  # fmt: skip
    assert [lane.name for lane in lanes(read(tmp_path, events))] == [
        "host, main thread", "host, thread -7 (backward)", "host, thread 1", "host, thread 3",
        "GPU 0, stream 7", "GPU 0, stream 20", "other: 0, -1",
    ]  # fmt: skip


def test_threads_of_several_processes_are_told_apart(tmp_path):
    events = [op("aten::mm", 0, 10, tid=100), op("aten::mm", 0, 10) | {"pid": 200, "tid": 200}]
    found = [lane.name for lane in lanes(read(tmp_path, events))]
    assert found == ["host, main thread of process 100", "host, main thread of process 200"]
