"""Links between ranks: what a slow one takes, and played ones that add up."""

import pytest
import torch

from course_utils.chapters.collectives.simulated_ranks import simulate
from course_utils.chapters.data_parallelism.links import PlayedLink, SlowLink


def test_a_slow_link_takes_alpha_and_beta_of_what_a_ring_sends():
    assert SlowLink(1e-3, 1e-9).seconds(10**6, 4) == pytest.approx(1e-3 + 1.5e-3)


def test_played_links_add_up_share_and_keep_sizes():
    def work(net):
        link, x, y = PlayedLink(net), torch.full((3,), float(net.rank)), torch.tensor([net.rank])
        link.all_reduce(x)
        link.broadcast(y, 2)
        return x.tolist(), y.item(), link.sizes

    assert simulate(3, work)[0] == [([3.0] * 3, 2, [12, 8])] * 3
