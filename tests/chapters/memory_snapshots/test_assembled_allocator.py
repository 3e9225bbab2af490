"""The reader's allocator in three functions: scored against ours, impossible answers named."""

import pytest

from course_utils.chapters.memory_snapshots.assembled_allocator import Impossible, score
from course_utils.core import files
from course_utils.memory.allocator.rules import CachingAllocator
from course_utils.memory.recorded import recorded_trace
from course_utils.memory.snapshots.snapshot import load
from course_utils.memory.what_if import program_of
from tests.chapters.memory_snapshots import wrong_answers as wrong
from tests.support.snapshots import asked_for

pytestmark = pytest.mark.without_torch

FOLDER = files.ROOT.parent / "shared" / "snapshots"
RULES = CachingAllocator()
PROGRAM = asked_for("fragmented")


def sizes(request):
    return RULES.round(request), RULES.segment_size(RULES.round(request))


def find_and_split(free, size):
    fitting = sorted((held, address) for address, held in free if held >= size)
    if not fitting:
        return None
    held, address = fitting[0]
    keeps = 512 if size <= 2**20 else 2**20 + 512
    return address, size if held - size >= keeps else held


def free_and_merge(segment, address):
    return wrong.merges_back_only(wrong.merges_forward_only(segment, address), address)


ALL = {"sizes": sizes, "find_and_split": find_and_split, "free_and_merge": free_and_merge}


def test_the_three_functions_together_are_the_allocator():
    found = score(PROGRAM, **ALL)
    assert found.same == found.total == sum(s.action == "alloc" for s in PROGRAM.steps)
    assert found.first == ""


@pytest.mark.skipif(not FOLDER.exists(), reason="no real snapshots beside the project")
@pytest.mark.parametrize("name", ["allocator_fragmented", "allocator_release"])
def test_they_are_scored_on_real_traces_too(name):
    program = program_of(recorded_trace(load(FOLDER / f"{name}.pickle")))
    found = score(program, **ALL)
    assert found.same == found.total > 800 and found.first == ""
    worse = score(program, find_and_split=wrong.first_fit)
    assert worse.same <= worse.total and worse.first.startswith("request ")


@pytest.mark.parametrize(
    "function, least, most",
    [("no_20_mib_buffer", 0.4, 0.95), ("first_fit", 0.5, 0.99), ("no_coalescing", 0.5, 0.95)],
)
def test_a_broken_rule_gets_most_requests_right_and_not_all(function, least, most):
    broken = getattr(wrong, function)
    name = {"no_20_mib_buffer": "sizes", "first_fit": "find_and_split"}.get(
        function, "free_and_merge"
    )
    found = score(PROGRAM, **{name: broken})
    assert least < found.same / found.total < most


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
