"""Links between ranks: one simulated by a clock, and those of simulated ranks."""

from types import SimpleNamespace

import pytest
import torch

from course_utils.chapters.collectives.simulated_ranks import simulate
from course_utils.chapters.data_parallelism import links
from course_utils.chapters.data_parallelism.links import ClockLink, PlayedLink, farthest


@pytest.fixture
def sleep(monkeypatch):
    """Moves the clock that the link reads; nothing else does."""
    now = [0.0]

    def by(seconds):
        now[0] += seconds

    monkeypatch.setattr(links, "time", SimpleNamespace(perf_counter=lambda: now[0], sleep=by))
    return by


def test_a_clocks_messages_go_one_after_the_other_each_for_its_latency_and_its_bytes(sleep):
    link, parts = ClockLink(0.25, 2**-5), [torch.ones(8), torch.ones(4)]

    def step():
        for work in [link.all_reduce(x) for x in parts]:
            work.wait()

    assert link.clock(step) == 1.25 + 0.75
    sent = [(span.start, span.end) for span in link.spans if span.label == "all_reduce"]
    assert sent == [(0, 1.25), (1.25, 2)]
    assert (link.messages, link.n_bytes) == (2, 48)
    assert all(x.eq(1).all() for x in parts)  # time, and no sum


def test_a_later_message_begins_when_it_is_sent_and_a_late_rank_does_not_wait(sleep):
    link, x = ClockLink(0.25), torch.ones(1)

    def step():
        first = link.all_reduce(x)
        sleep(2)
        first.wait()
        link.all_reduce(x).wait()

    assert link.clock(step) == 2.25
    sent = [(span.start, span.end) for span in link.spans if span.label == "all_reduce"]
    assert sent == [(0, 0.25), (2, 2.25)]


def test_the_farthest_rank_counts_and_one_without_that_tensor_does_not():
    one, two = torch.tensor([1.0, 0.0]), torch.tensor([3.0, 0.0])
    rows = [{"a": one, "b": one}, {"a": two}, {"a": one}]
    assert farthest(rows, "a", "b") == 2 and farthest(rows, "b", "b") == 0


def test_simulated_links_sum_broadcast_and_keep_sizes():
    def work(net):
        link, x, y = PlayedLink(net), torch.full((3,), float(net.rank)), torch.tensor([net.rank])
        link.all_reduce(x)
        link.broadcast(y, 2)
        return x.tolist(), y.item(), link.sizes

    assert simulate(3, work)[0] == [([3.0] * 3, 2, [12, 8])] * 3
