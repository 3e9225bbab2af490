"""Bucketed DDP as chapter 12's page writes it: what its own cells don't try."""

import pytest

import notebook_ranks as ranks
from tests.support.page_cells import cells_of, without_magic

CELLS = {name: without_magic(source) for name, source in cells_of("12").items()}


@pytest.fixture(scope="module")
def two_ranks():
    ranks.start(2, device="cpu", limit_seconds=120)
    for cell in ("bucket", "bucketed", "hook"):
        ranks.run_cell(CELLS[cell])
    yield
    ranks.stop()


def test_a_third_step_reuses_the_buckets_and_has_the_gradient_of_ddp(two_ranks):
    ranks.run_cell(
        "models = [replica(device) for _ in range(3)]\n"
        "late, early = Bucketed(models[0], MIB), Hooked(models[1], MIB)\n"
        "theirs = DDP(models[2])\n"
        "for _ in range(3):\n"
        "    late.step()\n"
        "    early.step()\n"
        "    theirs.zero_grad()\n"
        "    backward(theirs)\n"
        "grads = [flat_gradients(model) for model in models]\n"
        "shares = [p.grad.untyped_storage().nbytes() > p.grad.nbytes\n"
        "          for p in models[1].parameters()]"
    )
    for first, *others in ranks.pull("grads"):
        assert all((first - other).abs().max() < 1e-6 for other in others)
    assert all(map(all, ranks.pull("shares")))


def test_a_parameter_that_no_loss_uses_holds_its_bucket_up_and_is_an_error(two_ranks):
    ranks.run_cell(
        "net = replica(device)\nnet.unused = torch.nn.Parameter(torch.ones(1))\n"
        "hooks = Hooked(net, MIB)"
    )
    with pytest.raises(ranks.RankError, match="AssertionError"):
        ranks.run_cell("hooks.step()")


def test_a_watched_step_has_its_times_in_order_and_leaves_no_hooks(two_ranks):
    ranks.run_cell(
        "link = ClockLink(1e-3, 1e-9)\nhooks = Hooked(replica(device), MIB)\n"
        "seen = [replicas.watch(link, hooks) for _ in range(2)]"
    )
    for step in ranks.pull("seen")[0]:
        assert 0 < step.forward < min(step.ready) and len(step.ready) == 52
        assert step.exposed_seconds > 1e-3 and step.backward_seconds > 0 and len(step.sent) == 4
        assert step.full == sorted(step.full) and step.full[-1] == max(step.ready)
        assert sum(step.sizes) == 3_184_640
        rows = [span.row for span in step.spans("by hooks")]
        assert [rows.count(f"by hooks: {r}") for r in ("rank", "gradients", "link")] == [3, 52, 4]
