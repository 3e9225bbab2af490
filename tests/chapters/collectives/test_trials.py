"""Collectives on real ranks: right, named by their backend, timed by the slowest."""

import pytest

from course_utils import ranks
from course_utils.chapters.collectives.trials import ANSWERS, right_answer, time_all_reduces


@pytest.mark.parametrize("name", ANSWERS)
def test_a_collective_is_right_and_its_backend_named(four_ranks, name):
    assert ranks.run(right_answer, name, "cpu") == [{"backend": "gloo", "right": True}] * 4


def test_every_rank_hears_the_time_of_the_slowest(four_ranks):
    found = ranks.run(time_all_reduces, [4096], ["ring", "gloo"])
    assert found[0] == found[3] and set(found[0]) == {("ring", 4096), ("gloo", 4096)}
