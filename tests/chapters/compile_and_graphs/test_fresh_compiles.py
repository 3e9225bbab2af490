"""Checking an answer leaves the page's compiled functions alone, and is the same each time."""

import logging
import types
import warnings

import pytest
import torch

from course_utils.chapters.compile_and_graphs.fresh_compiles import Graphs, fresh, quietly
from course_utils.lesson.exercises import grade
from tests.chapters.compile_and_graphs.right_answers import with_the_first_apart
from tests.chapters.compile_and_graphs.wrong_answers import as_it_was, keeps_the_mask

SIZES = (4, 7, 9)


def scaled(x, factor=2, *, shift=1):
    return x * factor + shift


def compiles(function):
    """How many graphs each of the SIZES brings."""
    graphs, found = Graphs(), []
    compiled = torch.compile(function, backend=graphs)
    for size in SIZES:
        compiled(torch.ones(size))
        found.append(graphs.count)
        graphs.count = 0
    return found


def test_a_copy_compiles_as_a_function_does_that_nobody_compiled():
    torch.compiler.reset()
    assert compiles(scaled) == [1, 1, 0]
    assert compiles(scaled) == [1, 0, 0]  # Dynamo remembers that the size varied
    assert compiles(fresh(scaled)) == compiles(fresh(scaled)) == [1, 1, 0]


def test_a_copy_keeps_defaults_closure_and_result():
    offset = 3

    def inner(x, factor=2, *, shift=1):
        return x * factor + shift + offset

    assert fresh(inner)(5) == 14 and fresh(inner)(5, 1, shift=0) == 8


def test_of_a_compiled_function_the_one_within_is_copied():
    copy = fresh(torch.compile(scaled, backend="eager"))
    assert isinstance(copy, types.FunctionType) and copy.__code__.co_code == scaled.__code__.co_code


def test_graphs_and_their_runs_are_counted_apart():
    graphs = Graphs()
    compiled = torch.compile(fresh(scaled), backend=graphs)
    for size in (4, 4, 4, 7, 9):
        assert torch.equal(compiled(torch.ones(size)), 3 * torch.ones(size))
    assert (graphs.count, graphs.runs) == (2, 5)


def test_what_is_no_python_function_is_compiled_as_it_is():
    model = torch.nn.Linear(2, 2)
    assert fresh(model) is model and fresh(len) is len


@pytest.mark.parametrize(
    "name, answer",
    [
        ("compile.one_graph", as_it_was),
        ("compile.one_graph", keeps_the_mask),
        ("compile.steady_loop", with_the_first_apart),
    ],
)
def test_checking_an_answer_throws_away_nothing_that_the_page_compiled(name, answer):
    graphs = Graphs()
    compiled = torch.compile(fresh(scaled), backend=graphs)
    compiled(torch.ones(4))
    grade(name, answer)
    compiled(torch.ones(4))
    assert graphs.count == 1


def test_nothing_is_logged_or_warned_of_while_an_answer_is_checked(recwarn, capfd):
    torch.compiler.reset()
    assert grade("compile.one_graph", keeps_the_mask).passed is False
    assert grade("compile.steady_loop", with_the_first_apart).passed
    assert not recwarn.list
    assert capfd.readouterr() == ("", "")


def test_afterwards_torch_logs_and_warns_as_before():
    before = logging.root.manager.disable
    with pytest.raises(KeyError), quietly():
        warnings.warn("unseen", stacklevel=1)
        assert logging.root.manager.disable == logging.ERROR
        raise KeyError
    assert logging.root.manager.disable == before
    with pytest.warns(UserWarning, match="seen"):
        warnings.warn("seen", stacklevel=1)
