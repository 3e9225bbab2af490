"""The page's races and its parameter server: what they say is what plain loops give."""

import pytest
import torch

from course_utils import ranks
from course_utils.workloads import Addition
from tests.support.page_cells import cells_of, without_magic

CELLS = {name: without_magic(source) for name, source in cells_of("14").items()}


@pytest.fixture(scope="module")
def learning():
    names = {"torch": torch}
    for cell in ("learn-net", "optimizers", "learn-race"):
        exec(CELLS[cell], names)
    return names


@pytest.mark.parametrize("way, rate", [("sgd", 0.64), ("adam", 0.032)])
def test_nets_trained_as_one_learn_as_each_alone(learning, way, rate):
    """torch's optimizers are the oracle; the samples are those that seed 0 sees."""
    update, torchs = learning[way], {"sgd": torch.optim.SGD, "adam": torch.optim.Adam}[way]
    how = {"momentum": 0.9} if way == "sgd" else {"betas": (0.9, 0.95)}
    alone = learning["net"](0)
    optimizer, chance = torchs(alone.parameters(), rate, **how), torch.Generator().manual_seed(0)
    steps = None
    for step in range(1, 400):
        drawn = torch.randint(len(learning["X"]), (learning["SEEDS"], 64), generator=chance)[0]
        loss = torch.nn.functional.cross_entropy(alone(learning["X"][drawn]), learning["Y"][drawn])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        x, y = learning["tens_digits"](Addition().held_out[:200])
        held_out = torch.nn.functional.cross_entropy(alone(x), y).item()
        if step % max(1, step // 20) == 0 and held_out < 1.2:
            steps = step
            break
    assert learning["fastest"](update, 64, [rate])[0] == (steps, rate)


def test_a_warm_up_makes_the_first_steps_small(learning):
    quick = learning["fastest"](learning["sgd"], 64, [0.32])
    slow = learning["fastest"](learning["sgd"], 64, [0.32], warm_up=60)
    assert all(b[0] > a[0] for a, b in zip(quick, slow, strict=True))


@pytest.mark.parametrize("n", [3, 5])
def test_served_in_turn_descent_is_that_by_gradients_so_many_updates_old(n):
    """A loop over a list of all weights so far is the oracle."""
    ranks.start(n, device="cpu")
    try:
        ranks.run_cell(CELLS["server-code"], n)
        ranks.run_cell(CELLS["worker-code"], n)
        ranks.run_cell(CELLS["server-run"], n)
        rate, stale = 0.2, n - 2
        ranks.push(rate=rate)
        ranks.run_cell("end = play(torch.clone, torch.ones(1), rate, 40, in_turn)", n)
        end, ages, n_bytes = ranks.pull("end")[0]
    finally:
        ranks.stop()
    weights = [1.0]
    for version in range(40):
        weights.append(weights[-1] - rate * weights[max(0, version - stale)])
    assert end.item() == pytest.approx(weights[-1], rel=1e-4, abs=1e-7)
    assert [age for _, age in ages][:40] == [min(version, stale) for version in range(40)]
    assert sum(age for _, age in ages) == 40 * stale
    assert n_bytes == 8 * (n - 1 + 40 + 39)
