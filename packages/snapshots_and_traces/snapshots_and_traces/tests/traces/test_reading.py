"""What stands in a trace, whoever wrote it: for NVIDIA, AMD or a CPU, packed or not, old or new."""

import pytest
import torch
from torch.profiler import ProfilerActivity, profile, record_function, schedule
from torch.utils.data import DataLoader

from snapshots_and_traces.tests.support.traces import launched, micro, note, op, read, span, write
from snapshots_and_traces.traces import measures
from snapshots_and_traces.traces.reading import read_trace
from snapshots_and_traces.traces.trace import Kind


@pytest.mark.parametrize("packed", [False, True])
def test_packed_or_not_is_seen_by_the_content_and_a_bare_list_is_a_trace_too(packed, tmp_path):
    trace = read_trace(write(tmp_path / "odd.name", [op("aten::mm", 5, 2)], packed))
    assert trace.names == ["aten::mm"] and trace.seconds[0] == micro(2)
    file = tmp_path / "list.json"
    file.write_text('[{"ph":"X","name":"f","ts":1,"dur":2,"pid":"Spans","tid":"a"}]\n')
    assert read_trace(file).threads == [("Spans", "a")]


def test_begin_and_end_are_one_event_and_what_never_ends_lasts(tmp_path):
    def mark(phase, ts, tid=1, **more):
        return {"ph": phase, "ts": ts, "pid": 1, "tid": tid, **more}

    events = [
        mark("B", 10, name="outer", cat="cpu_op"), mark("B", 12, name="inner", cat="cpu_op"),
        mark("B", 13, tid=2, name="other", cat="cpu_op"), mark("E", 15), mark("E", 19),
        mark("E", 20), op("last", 30, 10),
    ]  # fmt: skip
    trace = read(tmp_path, events)
    assert trace.names == ["outer", "inner", "other", "last"]
    assert trace.seconds.tolist() == [micro(9), micro(3), micro(27), micro(10)]


def test_kernels_know_their_device_their_stream_and_the_call_that_launched_them(tmp_path):
    events = [*launched(8, 4, 20, 5, device=3), *launched(7, 10, 26, 4, "Memcpy", cat="gpu_memcpy")]
    trace = read(tmp_path, events, deviceProperties=[{"name": "A100"}])
    assert trace.kind.tolist() == [Kind.RUNTIME, Kind.KERNEL, Kind.RUNTIME, Kind.COPY]
    assert trace.launch.tolist() == [-1, 0, -1, 2] and trace.device.tolist() == [-1, 3, -1, 0]
    assert trace.devices == [3] and trace.gpus == ["A100"]
    odd = enumerate([2**31, -3, "0", None, 10**30, True])  # no GPU's numbers
    events = [span("kernel", "k", n, 1, pid=n, device=device) for n, device in odd]
    assert read(tmp_path, events).devices == [0]


def test_rocm_kernels_without_a_correlation_are_linked_by_their_flow(tmp_path):
    flow = {"cat": "ac2g", "name": "ac2g", "id": 5}
    events = [
        span("cuda_runtime", "hipLaunchKernel", 3, 2, cid=1, stream="0x55d0"),
        {"ph": "s", "pid": 100, "tid": 1, "ts": 3, **flow},
        span("kernel", "Cijk_Ailk_Bljk_SB", 9, 4, tid="0x55d0", pid=2),
        {"ph": "f", "pid": 2, "tid": "0x55d0", "ts": 9, "bp": "e", **flow},
        span("kernel", "rccl_main_kernel", 20, 4, tid=1, pid=2),
    ]
    trace = read(tmp_path, events)
    assert trace.launch.tolist() == [-1, 0, -1] and trace.devices == [2]
    assert trace.messages.tolist() == [False, False, True]


def test_older_kinetos_categories_are_known(tmp_path):
    events = [
        span("Operator", "mm", 1, 5), span("Runtime", "cudaLaunchKernel", 2, 1, correlation=1),
        span("Kernel", "gemm", 4, 1, 7, 0, correlation=1), span("Memset", "m", 6, 1, 7, 0),
        {"ph": "C", "name": "a counter", "ts": 3, "args": {"x": 1}},
    ]  # fmt: skip
    kinds = [Kind.OPERATOR, Kind.RUNTIME, Kind.KERNEL, Kind.COPY]
    assert read(tmp_path, events).kind.tolist() == kinds


def test_steps_are_those_of_the_host_in_order(tmp_path):
    events = [
        note("ProfilerStep#10", 60, 40), note("ProfilerStep#9", 10, 50), op("aten::mm", 0, 1),
        span("gpu_user_annotation", "ProfilerStep#9", 0, 90, 7, 0),
    ]  # fmt: skip
    steps = read(tmp_path, events).steps
    assert steps == {"ProfilerStep#9": (micro(10), micro(60)),
                     "ProfilerStep#10": (micro(60), micro(100))}  # fmt: skip


def test_what_memory_events_say_is_kept(tmp_path):
    def memory(total, place):
        args = {"Bytes": 4, "Total Allocated": total, "Device Id": place, "Device Type": 1}
        return {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "ts": 1, "args": args}

    events = [memory(8, 1), memory(3, 1), memory(4, -1), memory("x", 0), op("aten::mm", 5, 2)]
    trace = read(tmp_path, events)
    assert trace.allocated == {"GPU 1": 8, "CPU": 4}


def test_a_real_run_on_the_cpu_has_the_profilers_own_counts_and_times(tmp_path):
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
    file, told = tmp_path / "real.json.gz", {}

    def keep(seen):
        seen.export_chrome_trace(str(file))
        told.update({r.key: r for r in seen.key_averages() if r.key.startswith("aten::")})

    plan = schedule(wait=0, warmup=1, active=2)
    how = {"schedule": plan, "on_trace_ready": keep, "profile_memory": True, "acc_events": True}
    with profile(activities=[ProfilerActivity.CPU], **how) as seen:
        for x in DataLoader(torch.randn(12, 64), batch_size=4):
            with record_function("mine"):
                model(x).sum().backward()
            seen.step()
    trace = read_trace(file)
    mine = {one.name: one for one in measures.top_operators(trace) if one.name in told}
    told.pop("aten::sum")  # the profiler's table counts a sum inside a sum once
    assert {name: mine[name].count for name in told} == {n: row.count for n, row in told.items()}
    for name in ("aten::addmm", "aten::mm", "aten::clamp_min"):
        assert mine[name].seconds == pytest.approx(told[name].self_cpu_time_total / 1e6, rel=0.05)
    assert list(trace.steps) == ["ProfilerStep#1", "ProfilerStep#2"] and trace.devices == []
    assert max(trace.allocated.values()) > 64 * 4
    parts = measures.host_breakdown(trace)
    assert parts["data"] > 0 and parts["operators"] > 0
