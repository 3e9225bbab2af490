"""The line of a cell that runs on ranks: what it asks for, and what can't be."""

import pytest
from IPython.core.error import UsageError

from course_utils import ranks
from course_utils.ranks.page import magic


@pytest.mark.parametrize(
    "line, words",
    [
        ("0", "a number of ranks, 1 or more, not 0"),
        ("four", "a number of ranks, 1 or more, not four"),
        ("4 --only a", "ranks are given as numbers: 0,2, not a"),
        ("4 --timeout 0", "seconds, more than 0, not 0"),
        ("4 --timeout soon", "seconds, more than 0, not soon"),
    ],
)
def test_a_line_that_asks_for_nonsense_says_what_is_wanted(line, words):
    with pytest.raises(UsageError, match=words):
        magic.run_magic(line, "rank")


@pytest.mark.parametrize(
    "line, argv",
    [
        ('1 --argv "--epochs 3 -b 8" --timeout 90', ["--epochs", "3", "-b", "8"]),
        ("1 --argv --verbose  # a word", ["--verbose"]),
        ("1", []),
    ],
)
def test_arguments_reach_the_cell_though_they_begin_with_a_dash(line, argv, ended, capsys):
    magic.run_magic(line, "import sys\nsys.argv[1:]")
    assert capsys.readouterr().out == f"[rank 0] {argv}\n"


def test_a_wanted_failure_that_does_not_come_is_a_failure(ended):
    with pytest.raises(ranks.RankError, match="meant to fail"):
        magic.run_magic("1 --fails", "rank")
