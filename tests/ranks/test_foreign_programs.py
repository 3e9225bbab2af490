"""Programs of the tutorials run in a cell as they were written, again and again, side by side."""

import sys

import pytest

from course_utils import ranks
from course_utils.ranks.engine import turn
from tests.ranks.foreign_programs import PROGRAMS

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="starts processes as Linux does")


@pytest.fixture(scope="module", autouse=True)
def two(tmp_path_factory):
    ranks.start(2)
    ranks.push(folder=str(tmp_path_factory.mktemp("programs")))
    yield
    ranks.stop()


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_runs_as_it_was_written_and_the_next_cell_has_its_group(
    name, capsys, monkeypatch
):
    monkeypatch.setenv(turn.UNATTENDED, "1")  # no words in between
    program = PROGRAMS[name]
    ranks.run_cell(program.source, argv=program.argv)
    assert f"[rank {program.rank}] {program.prints}\n" in capsys.readouterr().out
    ranks.run_cell("x = torch.ones(1)\ndist.all_reduce(x)\nx.item()")
    assert capsys.readouterr().out == "[rank 0] 2.0\n[rank 1] 2.0\n"
