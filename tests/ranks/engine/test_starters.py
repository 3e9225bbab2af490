"""Ranks that others start: torchrun (two agents), mpirun, a stand-in for srun."""

import os
import shutil
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from course_utils import ranks
from course_utils.ranks import session
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


@pytest.fixture
def rank_1_dies(monkeypatch, tmp_path):
    """Rank 1 of those that are new Pythons ends before it has begun, and says why."""
    (tmp_path / "sitecustomize.py").write_text(
        "import os, sys\nif os.environ.get('RANK') == '1':\n"
        "    sys.stderr.write('no room on the disk\\n')\n    os._exit(3)\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    yield
    ranks.stop()


def test_a_spawned_rank_that_dies_at_the_start_is_named_with_its_last_words(
    monkeypatch, rank_1_dies
):
    monkeypatch.setenv(START, "spawn")
    with pytest.raises(ranks.RanksError) as caught:
        ranks.start(3)
    died = "The ranks didn't start: rank 1 died (the process exited with status 3)."
    assert str(caught.value) == f"{died}\nno room on the disk"


def test_a_rank_of_torchrun_that_dies_at_the_start_is_named(rank_1_dies):
    with pytest.raises(ranks.RanksError, match=r"rank 1 died \(the .* status 3\)\.\nno room on"):
        ranks.connect(f"{TORCHRUN} --nproc-per-node 3")


def test_a_forked_rank_that_is_killed_at_the_start_is_named():
    ranks.start(1)
    (helper,) = session.now.starter._running
    children = Path(f"/proc/{helper.pid}/task/{helper.pid}/children")
    before = children.read_text()

    def kill_the_first():
        while not (found := set(children.read_text().split()) - set(before.split())):
            time.sleep(0.001)
        os.kill(min(map(int, found)), signal.SIGKILL)

    killer = threading.Thread(target=kill_the_first)
    killer.start()
    start = time.monotonic()
    with pytest.raises(ranks.RanksError, match=r"rank 0 died \(killed by SIGKILL"):
        ranks.start(12)
    assert time.monotonic() - start < 5
    killer.join()
    ranks.run_cell("dist.barrier()", 2)


@pytest.mark.parametrize("start", ["fork", "spawn", "torchrun"])
def test_a_rank_that_dies_while_others_compute_is_named_soon(monkeypatch, start):
    if start == "torchrun":
        ranks.connect(f"{TORCHRUN} --nproc-per-node 2")
    else:
        monkeypatch.setenv(START, start)
    ranks.run_cell("import os, time", None if start == "torchrun" else 2)
    since = time.monotonic()
    with pytest.raises(ranks.RankError, match=r"✗ rank 1.*killed by SIGKILL"):
        ranks.run_cell("if rank:\n    os.kill(os.getpid(), 9)\ntime.sleep(25)")
    assert time.monotonic() - since < 5
