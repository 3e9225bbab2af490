"""The program of a rank: it finds its number, has what it needs, calls first what it is told to."""

from pathlib import Path

import pytest
import torch

import notebook_ranks as ranks
from notebook_ranks.engine import wire
from notebook_ranks.engine.forker import GPU_DEVICES
from notebook_ranks.engine.rank_program import NAMES, find_ids


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


def test_what_ranks_are_to_call_first_is_called_and_its_failure_has_words(
    monkeypatch, said, failing
):
    ranks.start(1)
    monkeypatch.setenv(wire.PREPARE, "faulthandler:disable")
    ranks.restart()
    assert said("import faulthandler\nfaulthandler.is_enabled()") == "[rank 0] False\n"
    monkeypatch.setenv(wire.PREPARE, "no_such_module:call")
    ranks.restart()
    for _ in range(2):  # ranks that couldn't prepare don't go on unprepared
        error = failing("rank")
        assert "No module named 'no_such_module'" in error and wire.PREPARE in error
    monkeypatch.delenv(wire.PREPARE)
    ranks.restart()


@pytest.mark.skipif(any(Path(d).exists() for d in GPU_DEVICES), reason="a GPU is here")
def test_a_forked_rank_has_what_optimizers_import_already():
    def added():
        import sys

        before = set(sys.modules)
        torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1)
        return len(set(sys.modules) - before)

    ranks.start(1, device="cpu")
    ranks.restart()
    assert ranks.run(added)[0] < 10
