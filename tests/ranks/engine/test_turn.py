"""What is said of a cell of ranks that takes long."""

import sys

import pytest

from course_utils import ranks
from course_utils.ranks.engine import turn

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="starts processes as Linux does")
SLOW = "import time\ntime.sleep(3)"


def test_a_slow_cell_says_where_it_is_but_only_to_somebody_who_watches(capsys, monkeypatch, ended):
    monkeypatch.setattr(turn, "TELL_SECONDS", 1)
    ranks.run_cell(SLOW, 2)
    said = capsys.readouterr().out
    assert said.startswith("… running for 1 s") and "time.sleep(3)" in said
    monkeypatch.setenv(turn.UNATTENDED, "1")
    ranks.run_cell(SLOW)
    assert capsys.readouterr().out == ""
