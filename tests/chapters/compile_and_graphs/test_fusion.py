"""Passes over memory of a traced program: those that one counts by hand."""

import pytest
import torch

from course_utils.chapters.compile_and_graphs import cxx, fuse, inductor_text, passes_in
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
        # read x | read x, sum again | read x, write the result
        (tracing.softmax_like, "x", 1 + 2 + 1 + 2, 1 + 1 + 2),
        (lambda x: (x + 1) / (x + 1).sum(), "x", 2 + 2 + 1 + 2, 3),
        (lambda x, y: 2 * y / x.sum(), "x y", 2 + 1 + 2, 3),
        (tracing.chain, "x", 40, 2),
    ],
)
def test_the_passes_are_those_counted_by_hand(program, names, eager, fused):
    found = counted(program, names)
    assert (found.passes_eager, found.passes_fused) == (eager, fused)
    assert found.bound == (eager / fused if fused else 1)


def test_a_sum_ends_a_loop_and_what_the_result_does_without_is_dead():
    found = counted(tracing.softmax_like)
    loops = [(one.op, found.loops[one]) for one in found.live]
    assert loops == [("x", {0, 1, 2}), ("sum", {0}), ("-", {1, 2}), ("sum", {1}), ("/", {2})]
    found = counted(lambda x, y, z: (x * 3, x + y)[1], "x y z")
    assert [one.op for one in found.dead] == ["*"]
    assert [one.op for one in found.live] == ["x", "y", "+"]


def test_a_program_that_gives_nothing_made_of_its_inputs_is_refused():
    with pytest.raises(TypeError, match=r"gives 2\.0, and nothing made of its inputs"):
        counted(lambda x: 2.0)


@pytest.mark.skipif(cxx() is None, reason="no C++ compiler here")
@pytest.mark.parametrize(
    "program, names",
    [
        (tracing.dead_square, "x y"),
        (tracing.sgd, "p g m"),
        (tracing.normalised, "x"),
        (tracing.softmax_like, "x"),
        (lambda x: x / x.sum(), "x"),
        (lambda x, y: 2 * y / x.sum(), "x y"),
        (lambda x, y: (x * y + 1) / (x * y).sum(), "x y"),
        (lambda x: (x - x.sum()) / (x * x).sum(), "x"),
    ],
)
def test_inductor_passes_over_memory_as_often(program, names):
    text = inductor_text(program, *torch.randn(len(names.split()), 4096))
    assert passes_in(text) == counted(program, names).passes_fused
