"""Passes over memory of a traced program: those that one counts by hand."""

import pytest

from course_utils.chapters.compile_and_graphs import fuse
from tests.chapters.compile_and_graphs import tracing
from tests.chapters.compile_and_graphs.tracing import trace


def counted(program, names="x"):
    return fuse(*trace(program, names.split()))


@pytest.mark.parametrize(
    "program, names, eager, fused",
    [
        (lambda x, y: x * y + 2, "x y", 5, 3),
        (tracing.dead_square, "x y", 7, 3),
        (lambda x: x * x, "x", 2, 2),
        (lambda x: x, "x", 0, 0),
        (lambda x: x.sum() * 2 + 1, "x", 1, 1),
        (lambda x: x.sum() * x.sum() - 1, "x", 2, 1),
        (lambda x: x / x.sum(), "x", 3, 3),
        (lambda x: x / (2 * x.sum() + 1), "x", 3, 3),
        (lambda x, y: (x * y).sum(), "x y", 4, 2),
        (lambda x: x * x + x * x, "x", 2 + 2 + 3, 2),
        (tracing.sgd, "p g m", 2 + 3 + 2 + 3 + 2 + 3, 4),
        # read x | read x, write e | read e, write the result
        (tracing.softmax_like, "x", 1 + 2 + 1 + 2, 1 + 2 + 2),
        (tracing.chain, "x", 40, 2),
    ],
)
def test_the_passes_are_those_counted_by_hand(program, names, eager, fused):
    found = counted(program, names)
    assert (found.passes_eager, found.passes_fused) == (eager, fused)
    assert found.bytes_eager(10**6) == eager * 4_000_000
    assert found.bytes_fused(10**6) == fused * 4_000_000
    assert found.bound == (eager / fused if fused else 1)


def test_a_sum_ends_a_loop_and_what_the_result_does_without_is_dead():
    found = counted(tracing.softmax_like)
    loops = [(one.op, found.loops[one]) for one in found.live]
    assert loops == [("x", 0), ("sum", 0), ("-", 1), ("sum", 1), ("/", 2)]
    found = counted(lambda x, y, z: (x * 3, x + y)[1], "x y z")
    assert [one.op for one in found.dead] == ["*"]
    assert [one.op for one in found.live] == ["x", "y", "+"]


def test_a_program_that_gives_nothing_made_of_its_inputs_is_refused():
    with pytest.raises(TypeError, match=r"gives 2\.0, and nothing made of its inputs"):
        counted(lambda x: 2.0)
