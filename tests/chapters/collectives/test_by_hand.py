"""Collectives by hand, on any number of ranks; torch's own results are the oracle."""

import pytest
import torch

from course_utils import ranks
from course_utils.chapters.collectives.by_hand import ALL_REDUCES, backend_of, formula, gpu_seconds
from course_utils.chapters.collectives.simulated_ranks import simulate
from course_utils.chapters.collectives.trials import count_all_reduce

every_way = pytest.mark.parametrize("way", ALL_REDUCES)


@every_way
@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 8])
def test_each_way_adds_up_on_any_number_of_ranks_and_any_length(way, n):
    for length in (1, 5, n, 12, 100):
        inputs = torch.randint(100, (n, length)).float()
        left = inputs.clone()
        simulate(n, lambda net, left=left: ALL_REDUCES[way](left[net.rank], net))
        assert all(torch.equal(x, inputs.sum(0)) for x in left)


@every_way
@pytest.mark.parametrize("n", [2, 3, 4, 7, 8])
def test_the_busiest_rank_does_what_the_formula_says(way, n):
    x = torch.zeros(n, 840)
    _, nets = simulate(n, lambda net: ALL_REDUCES[way](x[net.rank], net))
    found = max(net.steps for net in nets), max(net.sent_bytes for net in nets)
    assert found == formula(way, n, 840 * 4)


def test_on_real_ranks_the_result_and_the_counts_are_the_same(four_ranks):
    def beside_gloo(way):
        from course_utils.chapters.collectives.by_hand import ALL_REDUCES, Wires

        x = torch.randint(1000, (1001,)).float()
        want = x.clone()
        dist.all_reduce(want)  # noqa: F821  (a name that every rank has)
        ALL_REDUCES[way](x, Wires())
        return torch.equal(x, want)

    for way in ALL_REDUCES:
        assert all(ranks.run(beside_gloo, way))
        rows = ranks.run(count_all_reduce, way, 1200)
        assert max(row["sent"] for row in rows) == formula(way, 4, 4800)[1]


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
