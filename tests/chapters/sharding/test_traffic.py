"""What is counted of collectives, on ranks, against arithmetic and torch's own counter."""

import pytest
import torch

from course_utils import ranks
from course_utils.chapters.sharding.by_version import collectives
from course_utils.chapters.sharding.traffic import Traffic


@pytest.fixture(scope="module", params=[2, 3])
def n_ranks(request):
    ranks.start(request.param, device="cpu", limit_seconds=60)
    yield request.param
    ranks.stop()


def test_a_ring_sends_n_minus_one_nths_for_each_half_of_an_all_reduce(n_ranks):
    def counted():
        all_gather, reduce_scatter = collectives()
        shard, whole = torch.ones(10), torch.ones(10 * world_size)  # noqa: F821
        with Traffic() as traffic:
            all_gather(whole, shard)
            reduce_scatter(shard, whole)
            dist.all_reduce(whole)  # noqa: F821
        return traffic.messages, traffic.sent, shard, whole

    for messages, sent, shard, whole in ranks.run(counted):
        part = (n_ranks - 1) * 10 * 4
        assert messages == {"all_gather": 1, "reduce_scatter": 1, "all_reduce": 1}
        assert sent == {"all_gather": part, "reduce_scatter": part, "all_reduce": 2 * part}
        assert set(shard.tolist()) == {n_ranks} and set(whole.tolist()) == {n_ranks}


def test_functional_collectives_count_as_the_others(n_ranks):
    def counted():
        from torch.distributed._functional_collectives import (
            all_gather_tensor,
            all_reduce,
            reduce_scatter_tensor,
        )

        group = dist.group.WORLD  # noqa: F821
        with Traffic() as traffic:
            whole = all_gather_tensor(torch.ones(6), 0, group)
            reduce_scatter_tensor(whole, "sum", 0, group)
            all_reduce(whole, "sum", group)
        return traffic.messages, traffic.sent

    for messages, sent in ranks.run(counted):
        part = (n_ranks - 1) * 6 * 4
        assert messages.total() == 3
        assert sent == {"all_gather": part, "reduce_scatter": part, "all_reduce": 2 * part}


def test_nothing_is_counted_outside_of_the_block(n_ranks):
    def counted():
        with Traffic() as traffic:
            torch.ones(3) + 1
        dist.all_reduce(torch.ones(3))  # noqa: F821
        return traffic.messages.total()

    assert ranks.run(counted) == [0] * n_ranks
