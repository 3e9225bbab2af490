"""Replicas of a model: where chapter 12's own cells need more care than their page shows."""

import pytest
import torch

import notebook_ranks as ranks
from course_utils.chapters.data_parallelism.replicas import SyncNorm
from tests.support.page_cells import cells_of, without_magic

CELLS = {name: without_magic(source) for name, source in cells_of("12").items()}


@pytest.fixture(scope="module")
def two_ranks():
    ranks.start(2, device="cpu", limit_seconds=120)
    for cell in ("train", "one-by-one", "bucket", "hook", "ways"):
        ranks.run_cell(CELLS[cell].replace("(1, 2, 4)", "(1, 2)"))
    yield
    ranks.stop()


def test_batch_norm_with_everybodys_sums_is_one_process_with_the_whole_batch(two_ranks):
    def gradients():
        x = torch.randn(6, 3, generator=torch.Generator().manual_seed(1)).double()
        found = []
        for layer, part in ((SyncNorm(3), x.split(3)[rank]), (torch.nn.BatchNorm1d(3), x)):  # noqa: F821
            part = part.clone().requires_grad_()
            layer.double()(part).sin().mean().backward()
            found.append((layer.weight.grad, part.grad))
        (mine, share), (weight, whole) = found
        dist.all_reduce(mine)  # noqa: F821
        return mine / 2, weight, share / 2, whole.split(3)[rank]  # noqa: F821

    for mine, weight, share, whole in ranks.run(gradients):
        assert torch.allclose(mine, weight) and torch.allclose(share, whole)


def test_a_third_step_reuses_the_buckets_and_has_the_gradient_of_ddp(two_ranks):
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


def test_a_parameter_without_a_gradient_is_named_and_a_frozen_one_is_in_no_bucket(two_ranks):
    ranks.run_cell(
        "model = replicas._Half(*replicas.small_net())\n"
        "by = Overlapped(model, 8)\nmodel(replicas.inputs(device)).backward()"
    )
    with pytest.raises(ranks.RankError, match=r"no gradient for 1.weight, 1.bias: use"):
        ranks.run_cell("by.finish()")
    ranks.run_cell(
        "model = replica(device)\n"
        "model.norm.weight.requires_grad_(False)\n"
        "by = Overlapped(model, MIB)\nby.step(model)\n"
        "left = [name for name, p in model.named_parameters() if p.grad is None]"
    )
    assert ranks.pull("left") == [["norm.weight"]] * 2
