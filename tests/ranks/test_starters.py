"""Ranks that others start: torchrun (two agents), mpirun, a stand-in for srun, a saved script."""

import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from course_utils import ranks
from course_utils.core import files
from course_utils.ranks.engine import script, wire
from course_utils.ranks.engine.forker import GPU_DEVICES
from course_utils.ranks.engine.rank_program import NAMES, find_ids
from course_utils.ranks.engine.starters import program_of
from course_utils.ranks.session import START

TORCHRUN = Path(sys.executable).with_name("torchrun")
SUM = "x = torch.ones(2) * rank\ndist.all_reduce(x)\nx.tolist(), world_size"
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="starts processes as Linux does")


@pytest.fixture(autouse=True)
def stopped():
    yield
    ranks.stop()


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


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


def test_the_program_is_named_as_each_starter_wants_it():
    assert program_of(["python", "-m", "torch.distributed.run"])[0] == "-m"
    assert program_of(["mpirun", "-n", "2"])[:2] == ["-x", "COURSE_RANKS"]
    assert program_of(["srun"])[0] == sys.executable


def test_a_saved_cell_gives_the_same_under_torchrun(capsys, tmp_path):
    path = tmp_path / "train.py"
    ranks.run_cell("model = torch.nn.Linear(2, 1)", 2)
    ranks.run_cell("unrelated = 1")
    ranks.run_cell("for p in model.parameters():\n    dist.broadcast(p.data, 0)", 2)
    capsys.readouterr()
    last = "total = sum(p.sum() for p in model.parameters()).detach() + rank; total"
    ranks.run_cell(last, save=str(path))
    heard = [line.partition("] ")[2] for line in capsys.readouterr().out.splitlines()]
    command = [TORCHRUN, "--nproc-per-node", "2", "--rdzv-backend", "c10d"]
    where = ["--rdzv-endpoint", f"127.0.0.1:{free_port()}", path]
    own = {**os.environ, "PYTHONPATH": str(files.ROOT)}
    done = subprocess.run([*command, *where], capture_output=True, text=True, env=own, timeout=240)
    assert done.returncode == 0, done.stderr
    told = re.findall(r"tensor\([^)]*\)", done.stdout)  # two ranks may write one line between them
    assert sorted(told) == sorted(heard) and len(heard) == 2
    assert "unrelated" not in path.read_text()


def test_a_script_needs_no_pushed_names_and_overwrites_nobody(tmp_path):
    path = tmp_path / "mine.py"
    with pytest.raises(ranks.RanksError, match=r"cfg came by ranks\.push"):
        script.save(path, "print(cfg)", [], 4, given={"cfg"})
    path.write_text("my own work")
    with pytest.raises(ranks.RanksError, match="stays"):
        script.save(path, "print(1)", [], 4)
    assert path.read_text() == "my own work"


def test_a_script_holds_the_earlier_cells_that_matter_in_order():
    earlier = ["a = 1", "def f(x):\n    return x + b", "z = 9", "b = a + 1", "import math"]
    assert script.needed(earlier, "f(3)") == [earlier[0], earlier[1], earlier[3]]
    assert script.needed(earlier, "math.pi") == [earlier[4]]


@pytest.mark.skipif(any(Path(d).exists() for d in GPU_DEVICES), reason="a GPU is here")
def test_a_forked_rank_has_what_optimizers_import_already():
    def added():
        import sys

        before = set(sys.modules)
        torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1)
        return len(set(sys.modules) - before)

    ranks.start(1, device="cpu")
    assert ranks.run(added)[0] < 10


def test_what_ranks_are_to_call_first_is_called_and_its_failure_has_words(monkeypatch, capsys):
    monkeypatch.setenv(wire.PREPARE, "faulthandler:disable")
    ranks.run_cell("import faulthandler\nprint(faulthandler.is_enabled())", 1)
    assert capsys.readouterr().out == "[rank 0] False\n"
    monkeypatch.setenv(wire.PREPARE, "no_such_module:call")
    ranks.restart()
    with pytest.raises(ranks.RankError, match="No module named 'no_such_module'"):
        ranks.run_cell("rank")
