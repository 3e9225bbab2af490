"""Checking an answer leaves the page's compiled functions alone, and is the same each time."""

import logging
import warnings

import pytest
import torch

from course_utils.chapters.compile_and_graphs.fresh_compiles import Graphs, fresh, quietly
from course_utils.lesson.exercises import grade
from tests.chapters.compile_and_graphs.right_answers import with_the_first_apart
from tests.chapters.compile_and_graphs.wrong_answers import keeps_the_mask


def scaled(x, factor=2, *, shift=1):
    return x * factor + shift


def compiles(function):
    """How many graphs each of three sizes brings."""
    graphs, found = Graphs(), []
    compiled = torch.compile(function, backend=graphs)
    for size in (4, 7, 9):
        compiled(torch.ones(size))
        found.append(graphs.count)
        graphs.count = 0
    return found


def test_a_copy_compiles_as_a_function_does_that_nobody_compiled():
    torch.compiler.reset()
    assert compiles(scaled) == [1, 1, 0]
    assert compiles(scaled) == [1, 0, 0]  # Dynamo remembers that the size varied
    assert compiles(fresh(scaled)) == compiles(fresh(scaled)) == [1, 1, 0]


def test_a_copy_keeps_defaults_closure_and_result_and_what_is_no_function_stays_as_it_is():
    offset = 3

    def inner(x, factor=2, *, shift=1):
        return x * factor + shift + offset

    assert fresh(inner)(5) == 14 and fresh(inner)(5, 1, shift=0) == 8
    copy = fresh(torch.compile(scaled, backend="eager"))
    assert copy.__code__.co_code == scaled.__code__.co_code
    model = torch.nn.Linear(2, 2)
    assert fresh(model) is model and fresh(len) is len


def test_checking_says_nothing_and_throws_away_nothing_that_the_page_compiled(recwarn, capfd):
    graphs = Graphs()
    compiled = torch.compile(fresh(scaled), backend=graphs)
    compiled(torch.ones(4))
    assert grade("compile.one_graph", keeps_the_mask).passed is False
    assert grade("compile.steady_loop", with_the_first_apart).passed
    compiled(torch.ones(4))
    assert graphs.count == 1
    assert not recwarn.list and capfd.readouterr() == ("", "")


def test_afterwards_torch_logs_and_warns_as_before():
    logging.disable(logging.NOTSET)
    with pytest.raises(KeyError), quietly():
        warnings.warn("unseen", stacklevel=1)
        assert logging.root.manager.disable == logging.ERROR
        raise KeyError
    assert logging.root.manager.disable == logging.NOTSET
    with pytest.warns(UserWarning, match="seen"):
        warnings.warn("seen", stacklevel=1)
