"""Passes over memory of a traced program: those that one counts by hand."""

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

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
        (lambda x: x.sum(), "x", 1, 1),
        (lambda x: x.sum() * 2 + 1, "x", 1, 1),
        (lambda x: x / x.sum(), "x", 3, 3),
        (lambda x: x / (2 * x.sum() + 1), "x", 3, 3),
        (lambda x, y: (x * y).sum(), "x y", 4, 2),
        (lambda x: x * x + x * x, "x", 2 + 2 + 3, 2),
        (lambda p, g, m: tracing.sgd(p, g, m), "p g m", 2 + 3 + 2 + 3 + 2 + 3, 4),
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


class Passes(TorchDispatchMode):
    """Whole tensors that torch's own operators read and write."""

    def __init__(self, n):
        super().__init__()
        self.n, self.count = n, 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        tensors = {id(one): one for one in (*args, result) if isinstance(one, torch.Tensor)}
        self.count += sum(tensor.numel() == self.n for tensor in tensors.values())
        return result


@pytest.mark.parametrize(
    "program, names",
    [
        (tracing.dead_square, "x y"),
        (tracing.sgd, "p g m"),
        (tracing.normalised, "x"),
        (tracing.softmax_like, "x"),
        (tracing.chain, "x"),
        (lambda x, y, z: (x - y) / (x * x).sum() + z * z / 3, "x y z"),
    ],
)
def test_eager_torch_reads_and_writes_as_often(program, names):
    tensors = torch.randn(len(names.split()), 7).unbind()
    with Passes(7) as passes:
        program(*tensors)
    assert counted(program, names).passes_eager == passes.count


def test_a_sum_ends_a_loop_and_what_uses_it_stands_in_the_next():
    found = counted(tracing.softmax_like)
    assert [(one.op, found.loops[one]) for one in found.live] == [
        ("x", 0), ("sum", 0), ("-", 1), ("sum", 1), ("/", 2)
    ]  # fmt: skip


def test_what_the_result_does_without_is_dead_and_inputs_are_not():
    found = counted(lambda x, y, z: (x * 3, x + y)[1], "x y z")
    assert [one.op for one in found.dead] == ["*"]
    assert [one.op for one in found.live] == ["x", "y", "+"]


def test_arithmetic_with_sums_alone_is_one_number_and_costs_nothing():
    found = counted(lambda x: x.sum() * x.sum() - 1)
    assert {one.op for one in found.full} == {"x"}
    assert found.passes_eager == 2 and found.passes_fused == 1


def test_many_sums_of_sums_are_counted_at_once():
    def doubled(x):
        s = x.sum()
        for _ in range(60):
            s = s + s
        return x * s

    assert counted(doubled).passes_fused == 3


@pytest.mark.parametrize("result", [2.0, None])
def test_a_program_that_gives_nothing_made_of_its_inputs_is_refused(result):
    with pytest.raises(TypeError, match=f"gives {result}, and nothing made of its inputs"):
        counted(lambda x: result)
