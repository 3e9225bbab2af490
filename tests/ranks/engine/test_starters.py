"""Ranks that others start: torchrun (two agents), mpirun, a stand-in for srun."""

import shutil
import sys

import pytest

from course_utils import ranks
from course_utils.ranks.engine.starters import program_of
from course_utils.ranks.session import START
from tests.support.torchrun import TORCHRUN, free_port

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="starts processes as Linux does"),
    pytest.mark.usefixtures("ended"),
]

SUM = "x = torch.ones(2) * rank\ndist.all_reduce(x)\nx.tolist(), world_size"


def sums(capsys, n):
    """Whether `n` ranks add up, and say the same of a fault as forked ones do."""
    ranks.run_cell(SUM)
    total = sum(range(n))
    wanted = "".join(f"[rank {r}] ([{total}.0, {total}.0], {n})\n" for r in range(n))
    assert capsys.readouterr().out == wanted
    with pytest.raises(ranks.RankError) as caught:
        ranks.run_cell("if rank == 1:\n    1 / 0\ndist.barrier()", limit_seconds=120)
    assert str(caught.value).startswith("✗ rank 1, line 2: ZeroDivisionError: division by zero")
    assert "waiting at line 3 in barrier" in str(caught.value)


def test_two_agents_of_torchrun_are_two_nodes(capsys):
    where = f"--rdzv-backend c10d --rdzv-id 1 --rdzv-endpoint 127.0.0.1:{free_port()}"
    agent = f"{TORCHRUN} --nnodes 2 --nproc-per-node 2 {where}"
    ranks.connect(agent, agent)
    assert ranks.pull("local_rank") == [0, 1, 0, 1]
    sums(capsys, 4)


@pytest.mark.skipif(shutil.which("mpirun") is None, reason="no Open MPI on this machine")
def test_mpirun_starts_ranks(capsys):
    ranks.connect("mpirun --allow-run-as-root --oversubscribe -n 2")
    sums(capsys, 2)


def test_srun_is_understood_as_a_stand_in_plays_it(capsys, tmp_path):
    """No Slurm here: the stand-in sets what srun sets, and starts as many processes."""
    stand_in = tmp_path / "srun"
    stand_in.write_text(
        "#!/bin/sh\nfor i in 0 1; do SLURM_PROCID=$i SLURM_NTASKS=2 SLURM_LOCALID=$i "
        'SLURM_NTASKS_PER_NODE=2 "$@" & done\nwait\n'
    )
    stand_in.chmod(0o755)
    ranks.connect(str(stand_in))
    sums(capsys, 2)


def test_where_no_process_can_be_forked_new_ones_are_spawned(capsys, monkeypatch):
    monkeypatch.setenv(START, "spawn")
    ranks.start(2)
    sums(capsys, 2)
    ranks.run_cell("rank")
    assert capsys.readouterr().out == "[rank 0] 0\n[rank 1] 1\n"


def test_ranks_that_never_dial_in_are_a_sentence():
    with pytest.raises(ranks.RanksError, match="The ranks didn't start: none reported"):
        ranks.connect("false")


def test_connected_ranks_keep_their_number(monkeypatch):
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "1")
    ranks.connect("env")
    with pytest.raises(ranks.RanksError, match="The command starts 1 ranks, not 3"):
        ranks.start(3)


def test_the_program_is_named_as_each_starter_wants_it():
    assert program_of(["python", "-m", "torch.distributed.run"])[0] == "-m"
    assert program_of(["mpirun", "-n", "2"])[:2] == ["-x", "COURSE_RANKS"]
    assert program_of(["srun"])[0] == sys.executable
