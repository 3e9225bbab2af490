"""The reader's allocator in three functions: scored against ours, impossible answers named."""

import pytest

from course_utils.chapters.memory_snapshots.assembled_allocator import Impossible, score
from course_utils.chapters.memory_snapshots.exercises import all_right, scored
from course_utils.lesson.exercises import Wrong
from snapshots_and_traces.tests.support.snapshots import asked_for
from tests.chapters.memory_snapshots import wrong_answers as wrong
from tests.support.patches import changed

PROGRAM = asked_for("fragmented")
(solution,) = changed("memory.find_and_split", solution={})


def test_right_functions_are_at_every_address_of_the_real_gpu():
    assert "all 25 requests that a real GPU answered" in all_right(find_and_split=solution)
    found = score(PROGRAM, find_and_split=solution)
    assert found.same == found.total == sum(s.action == "alloc" for s in PROGRAM.steps)
    assert found.first == ""


@pytest.mark.parametrize(
    "name, broken",
    [
        ("sizes", wrong.no_20_mib_buffer),
        ("find_and_split", wrong.first_fit),
        ("free_and_merge", wrong.no_coalescing),
    ],
)
def test_a_broken_rule_gets_most_requests_right_and_not_all(name, broken):
    found = score(PROGRAM, **{name: broken})
    assert 0.4 < found.same / found.total < 0.99 and found.first.startswith("request ")


def test_a_wrong_answer_hears_how_many_requests_it_answers_as_a_gpu_did():
    said = scored(free_and_merge=wrong.no_coalescing)
    assert said.startswith("Your allocator answers ") and " of 25 at a real GPU's" in said
    with pytest.raises(Wrong, match=r"^15 of 25 requests at a real GPU's addresses"):
        all_right(free_and_merge=wrong.no_coalescing)
    with pytest.raises(Wrong, match="on a real GPU's published snapshots: find_and_split gives"):
        all_right(find_and_split=lambda free, size: (5, size))
    assert "doesn't get through" in scored(sizes=wrong.only_the_block)


@pytest.mark.parametrize(
    "functions, says",
    [
        ({"sizes": lambda n: n}, r"sizes\(\d+\) gives \d+, want \(block, segment\)"),
        ({"sizes": lambda n: (1, 2)}, "too small"),
        ({"sizes": lambda n: (n, 1)}, "gives a segment of 1 bytes: too small"),
        ({"find_and_split": lambda free, n: (5, n)}, "where no free block begins"),
        ({"find_and_split": lambda free, n: (free[0][0], 1) if free else None}, "takes 1 of"),
        ({"free_and_merge": lambda blocks, a: blocks}, "leaves it in use"),
        ({"free_and_merge": lambda blocks, a: blocks[1:]}, "a gap or an overlap|another size"),
        ({"free_and_merge": wrong.merges_with_blocks_in_use}, "which is in use"),
        ({"free_and_merge": lambda blocks, a: [(1, 2)]}, "want .address, size, used."),
    ],
)
def test_an_answer_that_no_allocator_could_act_on_is_named(functions, says):
    with pytest.raises(Impossible, match=says):
        score(PROGRAM, **functions)
