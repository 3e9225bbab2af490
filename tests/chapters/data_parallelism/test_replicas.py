"""Replicas of a model: chapter 12's own cells, run on ranks, against one process."""

import math

import pytest
import torch

from course_utils import ranks
from course_utils.chapters.data_parallelism.links import apart, farthest
from course_utils.chapters.data_parallelism.replicas import (
    SyncNorm,
    batches_counted,
    flat_gradients,
    flat_weights,
    sums_of_half,
)
from course_utils.chapters.data_parallelism.trials import ddp_against_one
from tests.support.page_cells import cells_of, without_magic

CELLS = {name: without_magic(source) for name, source in cells_of("12").items()}


@pytest.fixture(scope="module")
def four_ranks():
    ranks.start(4, device="cpu", limit_seconds=120)
    ranks.run_cell(CELLS["train"].replace("(1, 2, 4)", "(1, 2, 3, 4)"))
    yield
    ranks.stop()


def trained(steps, seed, what):
    """By rank, what each number of ranks has trained by the page's `train` and `groups`."""
    flat = {"grad": flat_gradients, "data": flat_weights}[what]

    def on_a_rank():
        return {n: flat(train(n, steps, seed)) for n in groups if rank < n}  # noqa: F821

    return ranks.run(on_a_rank)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_one_to_four_ranks_have_the_gradient_and_the_weights_of_one_process(four_ranks, seed):
    for steps, what, bound in ((1, "grad", 1e-5), (50, "data", 1e-4)):
        found = trained(steps, seed, what)
        assert set(found[0]) == {1, 2, 3, 4}
        assert max(farthest(found, n, 1) for n in (1, 2, 3, 4)) < bound
        assert max(farthest(found, n, n) for n in (2, 3, 4)) == 0


def test_other_seeds_give_other_weights(four_ranks):
    first, second = (trained(2, seed, "data")[0][4] for seed in (0, 1))
    assert apart(first, second) > 0.1


def test_batch_norm_with_everybodys_sums_is_one_process_with_the_whole_batch(four_ranks):
    def gradients():
        x = torch.randn(12, 3, generator=torch.Generator().manual_seed(1)).double()
        found = []
        for layer, part in ((SyncNorm(3), x.split(3)[rank]), (torch.nn.BatchNorm1d(3), x)):  # noqa: F821
            part = part.clone().requires_grad_()
            layer.double()(part).sin().mean().backward()
            found.append((layer.weight.grad, part.grad))
        (mine, share), (weight, whole) = found
        dist.all_reduce(mine)  # noqa: F821
        return mine / 4, weight, share / 4, whole.split(3)[rank]  # noqa: F821

    for mine, weight, share, whole in ranks.run(gradients):
        assert torch.allclose(mine, weight) and torch.allclose(share, whole)


@pytest.fixture(scope="module")
def two_ranks(four_ranks):
    ranks.start(2, device="cpu")
    for cell in ("one-by-one", "bucket", "hook", "ways"):
        ranks.run_cell(CELLS[cell])


def test_messages_and_bytes_are_those_of_the_plan(two_ranks):
    ranks.run_cell(
        "one = replica(device)\n"
        "sizes = [p.nbytes for p in one.parameters()]\n"
        "counts = replicas.count(link, ways(MIB))\n"
        "plans = [replicas.bucket_sizes(fill_buckets(one, k)) for k in (1, 10**9)]"
    )
    sizes, counts = ranks.pull("sizes")[0], ranks.pull("counts")[0]
    assert counts["one by one"][:2] == (len(sizes), sum(sizes))
    for way in ("buckets", "hooks"):
        assert counts[way][1] == sum(sizes)
        assert counts[way][0] >= math.ceil(sum(sizes) / 2**20)
        assert torch.allclose(counts[way][2], counts["torch's DDP"][2], atol=1e-6)
    each = [(1, size) for size in sizes[::-1]]
    assert ranks.pull("plans") == [[each, [(len(sizes), sum(sizes))]]] * 2


def test_accumulating_sends_once_and_adds_up_the_same(two_ranks):
    ranks.run_cell("found = replicas.four_batches(link, Overlapped(replica(device), MIB))")
    every, once = ranks.pull("found")[0]
    assert every[0] == 4 * once[0] and every[1] == 4 * once[1]
    assert torch.allclose(every[2], once[2], atol=1e-6)


def test_a_second_step_reuses_the_buckets_and_has_the_gradient_of_ddp(two_ranks):
    ranks.run_cell(
        "made = ways(MIB)\n"
        "for _ in range(3):\n"
        "    for how in made.values():\n"
        "        replicas.step(*how)\n"
        "grads = [replicas.flat_gradients(model) for model, _ in made.values()]\n"
        "p = next(made['buckets'][0].parameters())\n"
        "shares = p.grad.untyped_storage().nbytes() > p.grad.nbytes"
    )
    for first, *others in ranks.pull("grads"):
        assert all(torch.allclose(first, other, atol=1e-6) for other in others)
    assert ranks.pull("shares") == [True, True]


def test_a_sweep_knows_when_each_gradient_is_ready_and_costs_what_the_clock_says(two_ranks):
    ranks.run_cell(
        "clock, old = replicas.ClockLink(alpha=5e-3), link\n"
        "link = clock\n"
        "found = replicas.sweep(clock, {4096: ways(4096 * 1024)}, ways(1))\n"
        "link = old"
    )
    found, nobody = ranks.pull("found")
    ready = [found["ready", place] for place in range(52)]
    assert nobody is None and ready == sorted(ready) and ready[0] > 0
    assert found["one by one"] >= 52 * 5e-3 > found["buckets", 4096] >= 5e-3


def test_a_parameter_without_a_gradient_is_named_and_what_to_do(two_ranks):
    ranks.run_cell(
        "model = replicas._Half(*replicas.small_net())\n"
        "by = Overlapped(model, 8)\nmodel(replicas.inputs(device)).backward()"
    )
    with pytest.raises(ranks.RankError, match=r"no gradient for 1.weight, 1.bias: use"):
        ranks.run_cell("by.finish()")


def test_a_frozen_parameter_is_in_no_bucket_and_holds_up_none(two_ranks):
    ranks.run_cell(
        "model = replica(device)\n"
        "model.norm.weight.requires_grad_(False)\n"
        "by = Overlapped(model, MIB)\nby.step(model)\n"
        "left = [name for name, p in model.named_parameters() if p.grad is None]"
    )
    assert ranks.pull("left") == [["norm.weight"]] * 2


def test_ddp_counts_batches_with_rank_0_and_asks_what_is_used_where_it_is_told_to(two_ranks):
    assert ranks.run(batches_counted, "cpu") == [1, 1]
    assert ranks.run(sums_of_half, "cpu", find_unused_parameters=True) == [[2, 2, 2]] * 2
    assert ranks.run(sums_of_half, "cpu", static_graph=True) == [[2, 1, 1]] * 2
    with pytest.raises(ranks.RankError, match="Expected to have finished reduction"):
        ranks.run(sums_of_half, "cpu")


def test_ddp_is_one_process_too(two_ranks):
    for errors in ranks.run(ddp_against_one, "cpu", 5):
        assert errors["gradient_error"] < 1e-5 and errors["weights_error"] < 1e-4
