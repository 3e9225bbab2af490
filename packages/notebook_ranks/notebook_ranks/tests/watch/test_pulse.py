"""What counts as a sign of life of a rank: samples at one place, with one thing changed."""

import pytest
from msgspec.structs import replace

from notebook_ranks.messages import Place
from notebook_ranks.watch.stall import BUSY_SHARE, Pulse

SAMPLE = Place(mark="a", begun=3, used=1.0)


@pytest.mark.parametrize(
    "change, moves",
    [
        ({}, False),
        ({"mark": "b"}, True),
        ({"begun": 4}, True),
        ({"used": 1.0 + 2 * BUSY_SHARE}, True),
        ({"used": 1.0 + BUSY_SHARE / 2}, False),
    ],
    ids=["the same", "another place", "one more collective", "work", "being asked"],
)
def test_a_sign_of_life_is_a_step_a_collective_or_work(change, moves):
    pulse = Pulse(0.0)
    pulse.sample(0, SAMPLE, 1.0)
    pulse.sample(0, replace(SAMPLE, **change), 2.0)
    assert pulse.still(2.0) == (0.0 if moves else 2.0)
