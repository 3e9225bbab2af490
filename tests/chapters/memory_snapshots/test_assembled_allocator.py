"""The reader's allocator in three functions, scored against torch's."""

import pytest

from course_utils.chapters.memory_snapshots.assembled_allocator import score
from course_utils.chapters.memory_snapshots.exercises import all_right, scored
from course_utils.lesson.exercises import Wrong
from snapshots_and_traces.tests.support.snapshots import asked_for
from tests.chapters.memory_snapshots import wrong_answers as wrong
from tests.support.patches import changed

PROGRAM = asked_for("fragmented")
(solution,) = changed("memory.find_and_split", solution={})


def test_right_functions_are_at_every_address_of_the_real_gpu():
    assert "all 25 requests that a real GPU answered" in all_right(find_and_split=solution)
    same, requests = score(PROGRAM, find_and_split=solution)
    assert same == requests == sum(step.action == "alloc" for step in PROGRAM.steps)


@pytest.mark.parametrize(
    "name, broken",
    [
        ("sizes", wrong.no_20_mib_buffer),
        ("find_and_split", wrong.first_fit),
        ("free_and_merge", wrong.no_coalescing),
        ("free_and_merge", wrong.merges_forward_only),
    ],
)
def test_a_broken_rule_gets_most_requests_right_and_not_all(name, broken):
    same, requests = score(PROGRAM, **{name: broken})
    assert 0.4 < same / requests < 0.99


def test_a_wrong_answer_hears_how_many_requests_it_answers_as_a_gpu_did():
    said = scored(free_and_merge=wrong.no_coalescing)
    assert said.startswith("Your allocator answers ") and "15 of 25 at a real GPU's" in said
    with pytest.raises(Wrong, match=r"15 of 25 at a real GPU's addresses"):
        all_right(free_and_merge=wrong.no_coalescing)


@pytest.mark.parametrize(
    "functions",
    [
        {"sizes": lambda n: n},
        {"find_and_split": lambda free, n: (5, n)},
        {"free_and_merge": lambda blocks, address: [(1, 2)]},
        {"free_and_merge": wrong.merges_with_blocks_in_use},
    ],
)
def test_an_answer_that_no_allocator_could_act_on_does_not_get_through(functions):
    assert "doesn't get through" in scored(**functions)
