"""The line of a cell that runs on ranks: what it asks for, and what can't be."""

import pytest
from IPython.core.error import UsageError

import notebook_ranks as ranks
from notebook_ranks.page import magic

NONSENSE = {
    "0": "a number of ranks, 1 or more, not 0",
    "four": "a number of ranks, 1 or more, not four",
    "4 --only a": "ranks are given as numbers: 0,2, not a",
    "4 --timeout 0": "seconds, more than 0, not 0",
    "4 --timeout soon": "seconds, more than 0, not soon",
}


@pytest.mark.parametrize("line", NONSENSE)
def test_a_line_that_asks_for_nonsense_says_what_is_wanted(line):
    with pytest.raises(UsageError, match=NONSENSE[line]):
        magic.run_magic(line, "rank")


def test_arguments_reach_the_cell_though_they_begin_with_a_dash(capsys):
    for line, argv in {
        '1 --argv "--epochs 3 -b 8" --timeout 90': ["--epochs", "3", "-b", "8"],
        "1 --argv --verbose  # a word": ["--verbose"],
        "1": [],
    }.items():
        magic.run_magic(line, "import sys\nsys.argv[1:]")
        assert capsys.readouterr().out == f"[rank 0] {argv}\n"
    with pytest.raises(ranks.RankError, match="meant to fail"):
        magic.run_magic("1 --fails", "rank")
