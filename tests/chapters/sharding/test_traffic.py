"""What is counted of collectives, on ranks, against arithmetic."""

import torch

import notebook_ranks as ranks
from course_utils.chapters.sharding.watching import Traffic


def test_a_ring_sends_n_minus_one_nths_for_each_half_of_an_all_reduce():
    def counted():
        from torch.distributed import _functional_collectives as functional

        from course_utils.chapters.sharding.watching import collectives

        all_gather, reduce_scatter = collectives()
        shard, whole = torch.ones(10), torch.ones(10 * world_size)  # noqa: F821
        group = dist.group.WORLD  # noqa: F821
        with Traffic() as traffic:
            all_gather(whole, shard)
            reduce_scatter(shard, whole)
            dist.all_reduce(whole)  # noqa: F821
        with Traffic() as others:
            gathered = functional.all_gather_tensor(torch.ones(10), 0, group)
            functional.reduce_scatter_tensor(gathered, "sum", 0, group)
            functional.all_reduce(gathered, "sum", group)
        dist.all_reduce(whole)  # noqa: F821  outside, and so not counted
        return [(t.messages, t.sent) for t in (traffic, others)]

    ranks.start(3, device="cpu", limit_seconds=120)
    try:
        counts = [found for both in ranks.run(counted) for found in both]
    finally:
        ranks.stop()
    part = 2 * 10 * 4
    for messages, sent in counts:
        assert messages == {"all_gather": 1, "reduce_scatter": 1, "all_reduce": 1}
        assert sent == {"all_gather": part, "reduce_scatter": part, "all_reduce": 2 * part}
