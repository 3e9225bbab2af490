"""A break that is left is told in one line: where, why."""

import logging

import pytest
import torch
from torch._dynamo.exc import TorchDynamoException

from course_utils.chapters.compile_and_graphs.exercises import told
from course_utils.chapters.compile_and_graphs.fresh_compiles import Graphs, fresh, quietly
from course_utils.lesson.exercises import grade
from tests.chapters.compile_and_graphs import wrong_answers


@pytest.mark.parametrize(
    "answer, line, reason",
    [
        ("keeps_the_if", "if y.sum() <= 0:", "Data-dependent branching"),
        ("keeps_the_number", ".item()", "Tensor.item()"),
        ("python_chooses_by_a_number", "int(y.sum()", "Tensor.item()"),
        ("counts_in_a_list", ".tolist()", "Tensor.tolist()"),
        ("keeps_the_mask", "return y[y > 0].sum()", "Dynamic shape operator"),
        ("looks_on", "print(y.max())", "builtin"),
        ("hides_a_break", "/ _scale(y)", "disable"),
        ("a_branch_returns_its_input", "lambda y: y, (y,)", "aliasing"),
        ("a_branch_changes_its_input", "y.add_(0.5)", "mutation"),
        ("branches_of_two_dtypes", "y.double()", "expected same dtype"),
    ],
)
def test_a_break_is_named_with_its_line_and_dynamos_reason(answer, line, reason):
    message = grade("compile.one_graph", getattr(wrong_answers, answer)).message
    where, _, why = message.partition("Dynamo says")
    assert line in where and reason in why
    assert "\n" not in message and ". ." not in message and ".." not in message


@pytest.mark.parametrize(
    "answer, says",
    [
        ("raises_in_python", "AttributeError: 'Tensor' object has no attribute 'sume'"),
        ("forgets_the_border", "whose tanh sums to 0: want 1, got 0"),
    ],
)
def test_a_slip_is_told_in_pythons_words_and_other_numbers_with_their_input(answer, says):
    assert says in grade("compile.one_graph", getattr(wrong_answers, answer)).message


def prints(x):
    torch._dynamo.graph_break()
    return x


def logs(x):
    logging.info("a line")
    return x + 1


@pytest.mark.parametrize(
    "function, line", [(prints, "torch._dynamo.graph_break()"), (logs, "logging.info(")]
)
def test_a_break_is_told_at_the_readers_own_line(function, line):
    with quietly(), pytest.raises(TorchDynamoException) as caught:
        torch.compile(fresh(function), backend=Graphs(), fullgraph=True)(torch.ones(3))
    message = told(caught.value)
    assert f"({line}" in message and "Dynamo says: " in message
