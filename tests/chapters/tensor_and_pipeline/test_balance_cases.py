"""Cuts of a model into stages: the best is found, and what is no cut is said to be none."""

import random
from itertools import accumulate, combinations, pairwise

import pytest

from course_utils.chapters.tensor_and_pipeline.exercises import costliest, least_largest
from course_utils.lesson.exercises import Wrong


def test_the_largest_part_is_as_small_as_the_best_of_all_cuts():
    for _ in range(200):
        costs = random.choices([0, 1, 2, 5, 40], k=random.randint(1, 9))
        ranks = random.randint(1, len(costs))
        sums = [0, *accumulate(costs)]
        cuts = combinations(range(1, len(costs)), ranks - 1)
        every = ([sums[b] - sums[a] for a, b in pairwise([0, *cut, len(costs)])] for cut in cuts)
        assert least_largest(costs, ranks) == min(map(max, every))


@pytest.mark.parametrize(
    "given, says",
    [
        ([1], "want 2 numbers"),
        ([4, 0], "rank 1 has no layer"),
        ([0.5, 3.5], "rank 0 has no layer"),
        ([1.5, 2.5], "of 4"),
        ([2, 3], "5 layers of 4"),
    ],
)
def test_what_is_no_cut_is_said_to_be_none(given, says):
    with pytest.raises(Wrong, match=says):
        costliest(given, [2, 6, 1, 2], 2)


def test_the_costliest_rank_decides():
    assert costliest([1, 3], [2, 6, 1, 2], 2) == 9
