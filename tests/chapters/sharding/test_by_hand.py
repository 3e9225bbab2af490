"""The page's own stages on other numbers of ranks: one device's weights, and bytes by formula."""

import pytest
import torch

from course_utils import ranks
from course_utils.chapters.sharding.ring_order import add_as_ring, units_of
from course_utils.workloads import GPT, Addition, GPTConfig, answer_loss
from tests.support.page_cells import cells_of, without_magic

CELLS = {name: without_magic(source) for name, source in cells_of("13").items()}
PARAMETERS = 101_504


@pytest.fixture(scope="module", params=[2, 3])
def stages(request):
    n = request.param
    ranks.start(n, device="cpu", limit_seconds=60)
    ranks.run_cell("torch.set_num_threads(1)")
    steps = [name for stage in (1, 2, 3) for name in (f"zero-{stage}", f"zero-{stage}-step")]
    for name in ("unit", *steps, "stages", "stages-run"):
        ranks.run_cell(CELLS[name])
    yield n, ranks.pull("counted"), ranks.pull("weights")
    ranks.stop()


def one_process(n):
    """The weights after three steps of a process that adds in the ring's order."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = GPT(GPTConfig.tiny())
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(3):
        gradients = []
        for lines in Addition().train[:32].chunk(n):
            optimizer.zero_grad()
            answer_loss(model, lines).backward()
            gradients.append({p: p.grad / n for p in model.parameters()})
        add_as_ring(model, gradients)
        optimizer.step()
    torch.set_num_threads(threads)
    return torch.cat([p.detach().flatten() for unit in units_of(model) for p in unit])


def test_every_stage_has_the_weights_of_one_process_that_adds_in_the_rings_order(stages):
    n, _, weights = stages
    expected = one_process(n)
    for rank in weights:
        assert all(torch.equal(rank[stage], expected) for stage in (1, 2, 3))


def test_what_is_held_and_sent_follows_from_the_sizes(stages):
    n, counted, _ = stages
    blocks = 49_984
    units = [-(-size // n) * n for size in (blocks, blocks, PARAMETERS - 2 * blocks)]
    whole = 4 * sum(units)
    for rank in counted:
        for stage, held in rank.items():
            assert held["states"] == 2 * whole / n
            assert held["sent"] == (3 if stage == 3 else 2) * (n - 1) * whole // n
            assert held["weights"] == (4 * sum(units[1:]) if stage == 3 else whole)
        eagerly = 4 * (blocks + 2 * 64)  # a block's, and the last norm's, whose unit isn't complete
        found = [rank[stage]["gradients"] for stage in (1, 2, 3)]
        assert found == [4 * PARAMETERS, eagerly, eagerly]
