"""Simulated ranks: a deadlock is noticed, an error comes first, no thread is left."""

import threading
import time

import pytest
import torch

from course_utils.chapters.collectives.by_hand import naive_all_reduce
from course_utils.chapters.collectives.costs import Link
from course_utils.chapters.collectives.simulated_ranks import Deadlock, simulate
from course_utils.lesson.exercises import grade


def test_a_deadlock_of_simulated_ranks_is_noticed_and_says_who_waits():
    def all_send(net):
        net.send(torch.ones(1), (net.rank + 1) % net.n)

    with pytest.raises(Deadlock, match="rank 0 waits to send to 1; rank 1 waits to send to 2"):
        simulate(3, all_send)


def test_an_error_of_a_simulated_rank_comes_before_the_deadlock_that_it_causes():
    def work(net):
        if net.rank == 1:
            raise KeyError("mine")
        net.receive(torch.ones(1), 1)

    with pytest.raises(KeyError, match="mine"):
        simulate(2, work)
    with pytest.raises(ValueError, match="can't talk to rank 2"):
        simulate(2, lambda net: net.send(torch.ones(1), 2))


def test_an_answer_that_never_ends_leaves_no_thread():
    def forever(x, net):
        while True:
            pass

    verdict = grade("collectives.all_gather", forever, limit_seconds=1)
    assert verdict.passed is False and "does it wait for ever?" in verdict.message
    end = time.monotonic() + 60
    while any("play" in t.name for t in threading.enumerate()):
        assert time.monotonic() < end
        time.sleep(0.05)


def test_the_simulated_clock_counts_from_when_both_sides_are_there():
    """Three ranks, 4 bytes of 1 s each and a latency of 10 s: rank 0 has four messages of 14 s."""
    _, nets = simulate(3, lambda net: naive_all_reduce(torch.ones(1), net), link=Link(10, 1))
    assert [net.clock for net in nets] == [56, 42, 56]
    spans = [(s.label, s.start, s.end) for s in nets[2].spans]
    assert spans == [
        ("wait", 0, 14), ("send", 14, 28), ("wait", 28, 42), ("receive", 42, 56)
    ]  # fmt: skip
    assert nets[0].sent_to == {1: 4, 2: 4} and nets[0].messages == 2


def test_an_exchange_goes_both_ways_at_once():
    def swap(net):
        net.exchange(torch.ones(1), 1 - net.rank, torch.empty(1), 1 - net.rank)

    _, nets = simulate(2, swap, link=Link(10, 1))
    assert [net.clock for net in nets] == [14, 14]
