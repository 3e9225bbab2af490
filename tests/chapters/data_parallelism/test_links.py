"""Links between ranks: one that is a clock, and played ones that add up."""

import time

import pytest
import torch

from course_utils.chapters.collectives.simulated_ranks import simulate
from course_utils.chapters.data_parallelism.links import ClockLink, PlayedLink, farthest


def test_a_clocks_messages_go_one_after_the_other_each_for_its_latency_and_its_bytes():
    link, parts = ClockLink(0.01, 1e-3), [torch.ones(5), torch.ones(3)]

    def step():
        for work in [link.all_reduce(x) for x in parts]:
            work.wait()

    took = link.clock(step)
    first, second = (span for span in link.spans if span.label == "all_reduce")
    assert (link.messages, link.n_bytes, len(link.given)) == (2, 32, 2)
    assert first.seconds == pytest.approx(0.03) and second.seconds == pytest.approx(0.022)
    assert second.start == pytest.approx(first.end) and took >= second.end
    assert all(x.eq(1).all() for x in parts)  # time, and no sum


def test_a_message_that_is_handed_over_later_begins_then_and_who_comes_late_does_not_wait():
    link, x = ClockLink(1e-3, 0), torch.ones(1)

    def step():
        first = link.all_reduce(x)
        time.sleep(0.02)
        first.wait()
        link.all_reduce(x).wait()

    link.clock(step)
    first, second = (span for span in link.spans if span.label == "all_reduce")
    assert second.start == pytest.approx(link.given[1]) and second.start > first.end + 0.01
    assert link.given[1] >= 0.02


def test_the_farthest_rank_counts_and_one_without_that_tensor_does_not():
    one, two = torch.tensor([1.0, 0.0]), torch.tensor([3.0, 0.0])
    rows = [{"a": one, "b": one}, {"a": two}, {"a": one}]
    assert farthest(rows, "a", "b") == 2 and farthest(rows, "b", "b") == 0


def test_played_links_add_up_share_and_keep_sizes():
    def work(net):
        link, x, y = PlayedLink(net), torch.full((3,), float(net.rank)), torch.tensor([net.rank])
        link.all_reduce(x)
        link.broadcast(y, 2)
        return x.tolist(), y.item(), link.sizes

    assert simulate(3, work)[0] == [([3.0] * 3, 2, [12, 8])] * 3
