"""Collectives by hand, their costs and their pictures; torch's own results are the oracle."""

import math
import time

import pytest
import torch

from course_utils import ranks
from course_utils.chapters.collectives.by_hand import ALL_REDUCES, backend_of, formula, gpu_seconds
from course_utils.chapters.collectives.costs import (
    Cost,
    Link,
    algbw,
    busbw,
    fit,
    fit_half,
    hierarchical_seconds,
    misses,
    pipelined_tree_seconds,
    ring_seconds,
    seconds_from_busbw,
    tree_seconds,
)
from course_utils.chapters.collectives.rank_blocks import draw_holdings
from course_utils.chapters.collectives.ring_widget import ring_moments, ring_steps
from course_utils.chapters.collectives.simulated_ranks import Deadlock, simulate
from course_utils.chapters.collectives.trials import (
    ANSWERS,
    count_all_reduce,
    right_answer,
    time_all_reduces,
)
from course_utils.core.evidence import data, published
from course_utils.lesson.exercises import grade

every_way = pytest.mark.parametrize("way", ALL_REDUCES)


@pytest.fixture(scope="module")
def four_ranks():
    ranks.start(4, device="cpu", limit_seconds=120)
    yield
    ranks.stop()


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


@pytest.mark.parametrize("name", ANSWERS)
def test_a_collective_is_right_and_its_backend_named(four_ranks, name):
    assert ranks.run(right_answer, name, "cpu") == [{"backend": "gloo", "right": True}] * 4


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


def test_the_published_step_is_resnet_50s_and_its_messages_are_all_its_gradients():
    rows = published("ddp_resnet50_nccl").rows
    for step in (1, 2, 3):
        sent = [r for r in rows if r["step"] == step and r["collective"] == "all_reduce"]
        assert sum(r["numbers"] for r in sent) == 25_557_032
        assert all(r["n_bytes"] == 4 * r["numbers"] for r in sent)
    assert all(0 <= r["beside_seconds"] <= r["seconds"] for r in rows)
    assert "MIT" in data("published/ddp_resnet50_step.json")["licence"]


def test_every_rank_hears_the_time_of_the_slowest(four_ranks):
    found = ranks.run(time_all_reduces, [4096], ["ring", "gloo"])
    assert found[0] == found[3] and set(found[0]) == {("ring", 4096), ("gloo", 4096)}


def test_a_deadlock_of_played_ranks_is_noticed_at_once_and_says_who_waits():
    def all_send(net):
        net.send(torch.ones(1), (net.rank + 1) % net.n)

    start = time.monotonic()
    with pytest.raises(Deadlock, match="rank 0 waits to send to 1; rank 1 waits to send to 2"):
        simulate(3, all_send)
    assert time.monotonic() - start < 20


def test_an_error_of_a_played_rank_comes_before_the_deadlock_that_it_causes():
    def work(net):
        if net.rank == 1:
            raise KeyError("mine")
        net.receive(torch.ones(1), 1)

    with pytest.raises(KeyError, match="mine"):
        simulate(2, work)
    with pytest.raises(ValueError, match="can't talk to rank 2"):
        simulate(2, lambda net: net.send(torch.ones(1), 2))


def test_an_answer_that_never_ends_leaves_no_thread():
    import threading

    def forever(x, net):
        while True:
            pass

    verdict = grade("collectives.all_gather", forever, limit_seconds=1)
    assert verdict.passed is False and "does it wait for ever?" in verdict.message
    end = time.monotonic() + 60
    while time.monotonic() < end and any("play" in t.name for t in threading.enumerate()):
        time.sleep(0.05)
    assert not any("play" in t.name for t in threading.enumerate())


def test_bandwidths_are_those_of_nccl_tests():
    """The line of 16 GiB of nccl-tests on 8 A100: 127,997 µs, algbw 134.22, busbw 234.89."""
    assert round(algbw(0.127997, 2**34), 2) == 134.22
    assert round(busbw(0.127997, 8, 2**34), 2) == 234.89
    assert math.isclose(seconds_from_busbw(busbw(0.5, 8, 1e9), 8, 1e9), 0.5)


@pytest.mark.parametrize(
    "factors", [{"1": 2e-5, "S": 4e-12}, {"1": 3e-5, "S": 5e-12, "√S": 2e-8}, {"S": 1e-9}]
)
def test_a_fit_finds_the_model_that_made_the_times(factors):
    made = Cost(factors)
    times = {2**k: made.seconds(2**k) for k in range(10, 34)}
    found = fit(times, ("1", "S", "√S"))
    assert all(math.isclose(found.seconds(s), t, rel_tol=1e-6) for s, t in times.items())
    _, missed = fit_half(times, ("1", "S", "√S"))
    assert set(missed) == set(list(times)[1::2]) and max(missed.values()) < 1e-6


def test_no_factor_of_a_fit_is_negative():
    falling = {1000: 3e-3, 2000: 2e-3, 4000: 1e-3}
    assert all(f >= 0 for f in fit(falling, ("1", "S", "√S")).factors.values())
    assert misses(Cost({"S": 1.0}), {2: 4.0}) == {2: 0.5}


def test_costs_agree_with_counts_and_with_each_other():
    link = Link(1e-5, 1e-9)
    for way, cost in (("ring", ring_seconds), ("tree", tree_seconds)):
        steps, sent = formula(way, 8, 1e6)
        received = 2 if way == "tree" else 1  # half of the tree's steps only receive
        assert math.isclose(cost(link, 8, 1e6), steps * 1e-5 + received * sent * 1e-9)
    assert hierarchical_seconds(link, link, 8, 1e6) == ring_seconds(link, 8, 1e6)
    assert pipelined_tree_seconds(link, 1024, 1e3) < ring_seconds(link, 1024, 1e3)


def test_the_published_a100_figures_are_two_views_of_one_run():
    times = {row["n_bytes"]: row["seconds"] for row in published("all_reduce_a100").rows}
    rows = [r for r in published("all_reduce_busbw").rows if r["machine"] == "8 × A100"]
    for row in rows:
        assert math.isclose(
            busbw(times[row["n_bytes"]], 8, row["n_bytes"]), row["gb_per_s"], rel_tol=0.01
        )


@pytest.mark.parametrize("n", [2, 3, 6])
def test_the_widgets_ring_ends_with_every_digit_everywhere(n):
    moments = ring_moments(n)
    assert len(moments) == 2 * (n - 1) + 1
    assert moments[0] == [[10**rank] * n for rank in range(n)]
    assert moments[-1] == [[int("1" * n)] * n] * n


def test_the_widget_moves_with_its_sliders():
    widget = ring_steps()
    number, step, picture, reading = widget.children
    before = picture.value
    step.value = 6
    assert picture.value != before and "done" in reading.value
    number.value = 2
    assert step.max == step.value == 2


def test_holdings_are_drawn_from_tensors_lists_and_nothing():
    before = [torch.tensor([65]), None, [torch.tensor([1]), torch.tensor([2])]]
    picture = draw_holdings("A title", {"move": (before, [5, 6, 7])}, letters=True)
    assert repr(picture) == "[figure] A title" and picture.png.startswith(b"\x89PNG")
