"""The page's races: what nets that are trained as one learn is what plain loops give."""

import pytest
import torch

from course_utils.workloads import Addition
from course_utils.workloads.addition import decode
from tests.support.page_cells import cells_of, without_magic

CELLS = {name: without_magic(source) for name, source in cells_of("17").items()}


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
    alone, goal = learning["net"](0), 1.8
    optimizer, chance = torchs(alone.parameters(), rate, **how), torch.Generator().manual_seed(0)
    x, y = learning["tens_digits"](Addition().held_out[:200])
    for step in range(1, 400):
        drawn = torch.randint(len(learning["X"]), (learning["SEEDS"], 64), generator=chance)[0]
        loss = torch.nn.functional.cross_entropy(alone(learning["X"][drawn]), learning["Y"][drawn])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        held_out = torch.nn.functional.cross_entropy(alone(x), y).item()
        if step % max(1, step // 20) == 0 and held_out < goal:
            break
    assert learning["fastest"](update, 64, [rate], goal=goal)[0] == (step, rate)


def test_the_class_is_the_sums_tens_digit_and_the_inputs_are_both_numbers_digits(learning):
    lines = Addition().held_out[:300]
    x, y = learning["tens_digits"](lines)
    texts = [decode(line) for line in lines]
    assert y.tolist() == [(int(t[:2]) + int(t[3:5])) // 10 % 10 for t in texts]
    digits = x.view(-1, 4, 10)
    assert torch.equal(digits.sum(2), torch.ones(300, 4))
    want = [[int(t[at]) for at in (0, 1, 3, 4)] for t in texts]
    assert digits.argmax(2).tolist() == want
