"""A chain visits every place once before it returns."""

import pytest

from course_utils.chapters.your_machine.chain import follow, ring


@pytest.mark.parametrize("n", [4, 64, 2**14])
def test_the_chain_from_any_place_visits_all_of_them(n):
    table = ring(n).tolist()
    for begin in (0, n // 2 + 1):
        place, seen = begin, set()
        while place not in seen:
            seen.add(place)
            place = table[place]
        assert place == begin and len(seen) == n
    assert follow(table, 0, n) == 0
