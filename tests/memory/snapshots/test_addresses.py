"""Addresses that come and go, beside a sorted list."""

import random
from bisect import bisect_right

import pytest

from course_utils.memory.snapshots import addresses
from course_utils.memory.snapshots.addresses import Addresses

pytestmark = pytest.mark.without_torch


@pytest.mark.parametrize("seed", range(4))
def test_addresses_that_come_and_go_stay_in_order(seed, monkeypatch):
    monkeypatch.setattr(addresses, "WIDEST", 4)
    choose = random.Random(seed)
    there = set(choose.sample(range(200), choose.choice((0, 50))))
    found = Addresses(there)
    for _ in range(3000):
        number = choose.randrange(200)
        if number in there and choose.random() < 0.6:
            found.remove(number)
            there.remove(number)
        elif number not in there and choose.random() < 0.4:
            found.add(number)
            there.add(number)
        order, asked = sorted(there), choose.randrange(-2, 203)
        at = bisect_right(order, asked)
        assert list(found) == order
        assert found.up_to(asked) == (order[at - 1] if at else None)
        assert found.after(asked) == (order[at] if at < len(order) else None)
        assert max(map(len, found.pieces)) <= 4
