"""The allocator with a reader's search for a block, scored against torch's."""

import pytest

from course_utils.chapters.memory_snapshots.exercises import score
from snapshots_and_traces.tests.support.snapshots import asked_for
from tests.chapters.memory_snapshots import wrong_answers as wrong
from tests.support.patches import changed

PROGRAM = asked_for("fragmented")
(solution,) = changed("memory.find_and_split", solution={})


def test_the_solution_answers_every_request_and_a_broken_rule_most():
    same, requests = score(PROGRAM, solution)
    assert same == requests == sum(step.action == "alloc" for step in PROGRAM.steps)
    same, requests = score(PROGRAM, wrong.first_fit)
    assert 0.4 < same / requests < 0.99


def test_an_answer_that_no_allocator_could_act_on_raises():
    with pytest.raises(KeyError):
        score(PROGRAM, lambda free, size: (5, size))
