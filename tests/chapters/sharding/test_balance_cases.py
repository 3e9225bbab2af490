"""Cuts of a model into stages: who finds the best one passes, in whatever way."""

import random

import pytest

from course_utils.chapters.sharding.balance_cases import cuts_tried, least_largest
from course_utils.lesson.exercises import Wrong
from tests.chapters.sharding.balance_answers import RIGHT, WRONG, by_every_cut


@pytest.mark.parametrize("answer", RIGHT)
def test_a_right_answer_of_any_kind_passes_every_time(answer):
    for _ in range(3):
        assert "128 layers" in cuts_tried(answer)


@pytest.mark.parametrize("answer", WRONG)
def test_a_wrong_answer_is_told_what_is_wrong(answer):
    for _ in range(3):
        with pytest.raises(Wrong, match=r"you return|changed"):
            cuts_tried(answer)


def test_the_largest_part_is_as_small_as_the_best_of_all_cuts():
    for _ in range(200):
        costs = random.choices([0, 1, 2, 5, 40], k=random.randint(1, 9))
        ranks = random.randint(1, len(costs))
        parts, first = [], 0
        for count in by_every_cut(costs, ranks):
            parts.append(sum(costs[first : first + count]))
            first += count
        assert least_largest(costs, ranks) == max(parts)


@pytest.mark.parametrize(
    "given, says",
    [([1], "want 2 numbers"), ([4, 0], "rank 1 has no layer"), ([0.5, 3.5], "rank 0 has no layer"),
     ([1.5, 2.5], "of 4"), ([2, 3], "5 layers of 4"), ([1, 3], "rank 1 costs 9")],
)  # fmt: skip
def test_what_is_no_cut_is_said_to_be_none(given, says, monkeypatch):
    monkeypatch.setattr("course_utils.chapters.sharding.balance_cases.EDGES", [([2, 6, 1, 2], 2)])
    with pytest.raises(Wrong, match=says):
        cuts_tried(lambda costs, ranks: given)
