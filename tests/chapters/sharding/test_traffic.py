"""What is counted of collectives, on ranks, against arithmetic."""

import torch

import notebook_ranks as ranks
from course_utils.chapters.sharding.watching import Traffic


def test_a_ring_sends_n_minus_one_nths_for_each_half_of_an_all_reduce():
    def counted():
        from torch.distributed import _functional_collectives as functional

        all_gather = getattr(torch.distributed, "all_gather_single", None)
        all_gather = all_gather or torch.distributed.all_gather_into_tensor
        reduce_scatter = getattr(torch.distributed, "reduce_scatter_single", None)
        reduce_scatter = reduce_scatter or torch.distributed.reduce_scatter_tensor
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
        pair, ones = dist.new_group([0, 1]), torch.ones(30)  # noqa: F821
        with Traffic() as in_two:
            dist.reduce(ones, 0)  # noqa: F821
            if rank < 2:  # noqa: F821
                dist.all_reduce(ones, group=pair)  # noqa: F821
                functional.all_reduce(ones, "sum", pair)
        return [(t.messages, t.sent) for t in (traffic, others)], in_two.sent

    ranks.start(3, device="cpu", limit_seconds=120)
    try:
        counts, in_two = zip(*ranks.run(counted), strict=True)
    finally:
        ranks.stop()
    part = 2 * 10 * 4
    for messages, sent in (found for both in counts for found in both):
        assert messages == {"all_gather": 1, "reduce_scatter": 1, "all_reduce": 1}
        assert sent == {"all_gather": part, "reduce_scatter": part, "all_reduce": 2 * part}
    assert in_two == ({"reduce": part, "all_reduce": 2 * 120},) * 2 + ({"reduce": part},)
