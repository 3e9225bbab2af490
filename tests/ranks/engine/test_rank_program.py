"""The program of a rank: it finds its number, and calls first what it is told to."""

import sys
from types import SimpleNamespace

import pytest

from course_utils import ranks
from course_utils.ranks.engine import rank_program, wire
from course_utils.ranks.engine.ids import NAMES, find_ids

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="starts processes as Linux does"),
    pytest.mark.usefixtures("ended"),
]


@pytest.mark.parametrize(
    "told, ids",
    [
        ({"RANK": "3", "WORLD_SIZE": "4", "LOCAL_RANK": "1"}, ["3", "4", "1"]),
        ({"OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "4"}, ["3", "4"]),
        ({"SLURM_PROCID": "3", "SLURM_NTASKS": "4", "SLURM_LOCALID": "1"}, ["3", "4", "1"]),
    ],
)
def test_each_starter_tells_the_rank_in_its_own_words(told, ids, monkeypatch):
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    assert list(find_ids().values()) == ids


def test_what_ranks_are_to_call_first_is_called_and_its_failure_has_words(monkeypatch, capsys):
    monkeypatch.setenv(wire.PREPARE, "faulthandler:disable")
    ranks.run_cell("import faulthandler\nprint(faulthandler.is_enabled())", 1)
    assert capsys.readouterr().out == "[rank 0] False\n"
    monkeypatch.setenv(wire.PREPARE, "no_such_module:call")
    ranks.restart()
    for _ in range(2):  # ranks that couldn't prepare don't go on unprepared
        with pytest.raises(ranks.RankError, match="No module named 'no_such_module'") as failed:
            ranks.run_cell("rank")
        assert wire.PREPARE in str(failed.value)


@pytest.mark.parametrize(
    "backend, kind, lost", [("nccl", "group", True), ("nccl", "python", False),
                            ("gloo", "group", False)],
)  # fmt: skip
def test_a_rank_whose_gpu_may_be_in_any_state_does_not_go_on(backend, kind, lost):
    rank = SimpleNamespace(group=SimpleNamespace(backend=backend))
    assert rank_program.Rank._is_lost(rank, {"kind": kind}) is lost
