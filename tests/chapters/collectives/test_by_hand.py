"""The naive way, and clocks that all ranks share."""

from types import SimpleNamespace

import pytest
import torch

from course_utils import ranks
from course_utils.chapters.collectives.by_hand import (
    backend_of,
    gpu_seconds,
    gpu_spans,
    naive_all_reduce,
)
from course_utils.chapters.collectives.simulated_ranks import simulate


@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_the_naive_way_adds_up_and_rank_0_does_all(n):
    inputs = torch.randint(100, (n, 12)).float()
    left = inputs.clone()
    _, nets = simulate(n, lambda net: naive_all_reduce(left[net.rank], net))
    assert all(torch.equal(x, inputs.sum(0)) for x in left)
    assert nets[0].steps == 2 * (n - 1) and nets[0].sent_bytes == (n - 1) * 48


def test_every_rank_hears_the_time_that_the_slowest_takes_for_a_call(four_ranks):
    def uneven():
        import time

        from course_utils.chapters.collectives.by_hand import slowest_seconds

        return slowest_seconds(lambda: time.sleep(0.01 * rank), 1, calls=3)  # noqa: F821

    found = ranks.run(uneven)
    assert len(set(found)) == 1 and 0.03 <= found[0] < 0.09


def test_what_a_profiler_saw_on_a_gpu_is_messages_and_sums():
    def event(name, device, start):
        values = {"name": name, "device_type": device, "start_ns": start, "duration_ns": 5}
        return SimpleNamespace(**{key: lambda value=value: value for key, value in values.items()})

    events = [
        event("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", "DeviceType.CUDA", 10**9),
        event("vectorized_elementwise_kernel", "DeviceType.CUDA", 2 * 10**9),
        event("aten::add_", "DeviceType.CPU", 2 * 10**9),
    ]
    results = SimpleNamespace(events=lambda: events)
    seen = SimpleNamespace(profiler=SimpleNamespace(kineto_results=results))
    spans = gpu_spans(seen, "GPU 1")
    assert [(s.row, s.label, s.start) for s in spans] == [
        ("GPU 1", "NCCL", 1.0), ("GPU 1", "add", 2.0)
    ]  # fmt: skip
    assert gpu_spans(SimpleNamespace(profiler=None), "GPU 0") == []


def test_the_backend_is_that_of_the_device(monkeypatch):
    monkeypatch.setattr(torch.distributed, "get_backend_config", lambda: "cpu:gloo,cuda:nccl")
    assert backend_of("cuda:1") == "nccl" and backend_of("cpu") == "gloo"


class Event:
    """A CUDA event's stand-in: the time is what the calls between two took, a second each."""

    clock = 0.0

    def __init__(self, enable_timing):
        assert enable_timing

    def record(self):
        self.at = Event.clock

    def synchronize(self):
        pass

    def elapsed_time(self, end):
        return 1e3 * (end.at - self.at)


def test_a_gpus_loop_is_timed_after_its_warm_up_and_a_sum_of_all_gpus(monkeypatch):
    done = []
    monkeypatch.setattr(torch.cuda, "Event", Event)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: done.append("synchronize"))
    monkeypatch.setattr(torch.cuda, "_sleep", lambda cycles: done.append("sleep"))
    real = torch.zeros, torch.tensor
    monkeypatch.setattr(torch, "zeros", lambda *size, device: real[0](*size))
    monkeypatch.setattr(torch, "tensor", lambda value, device: real[1](value))
    monkeypatch.setattr(torch.distributed, "all_reduce", lambda x, *op: done.append("sum"))

    def work():
        done.append("work")
        Event.clock += 1.0

    assert gpu_seconds(work, 3, warm_up=2) == 1.0
    assert done == ["work"] * 2 + ["synchronize", "sleep", "sum"] + ["work"] * 3 + ["sum"]
    done.clear()
    gpu_seconds(work, 1, queued=False)
    assert "sleep" not in done
