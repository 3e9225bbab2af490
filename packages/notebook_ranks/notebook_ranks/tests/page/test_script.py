"""A saved script: the cells that matter, in order, and the same under torchrun."""

import os
import re
import subprocess

import pytest

import notebook_ranks as ranks
from notebook_ranks.page import script
from notebook_ranks.tests.kernels import PACKAGE
from notebook_ranks.tests.torchrun import TORCHRUN, free_port


def test_a_saved_cell_gives_the_same_under_torchrun(said, tmp_path):
    path = tmp_path / "train.py"
    ranks.start(2)
    ranks.restart()
    ranks.run_cell("model = torch.nn.Linear(2, 1)")
    ranks.run_cell("unrelated = 1")
    ranks.run_cell("for p in model.parameters():\n    dist.broadcast(p.data, 0)")
    last = "total = sum(p.sum() for p in model.parameters()).detach() + rank; total"
    heard = [line.partition("] ")[2] for line in said(last, save=str(path)).splitlines()]
    command = [TORCHRUN, "--nproc-per-node", "2", "--rdzv-backend", "c10d"]
    where = ["--rdzv-endpoint", f"127.0.0.1:{free_port()}", path]
    own = {**os.environ, "PYTHONPATH": str(PACKAGE)}
    done = subprocess.run([*command, *where], capture_output=True, text=True, env=own, timeout=240)
    assert done.returncode == 0, done.stderr
    told = re.findall(r"tensor\([^)]*\)", done.stdout)  # two ranks may write one line between them
    assert sorted(told) == sorted(heard) and len(heard) == 2
    assert "unrelated" not in path.read_text()


def test_a_saved_script_takes_tensors_of_the_cpu_wherever_it_runs(tmp_path):
    """NCCL alone, as a script with a GPU for each rank would name it, refuses them."""
    script.save(tmp_path / "train.py", "dist.all_reduce(torch.ones(1))", [], 2)
    assert "dist.init_process_group()" in (tmp_path / "train.py").read_text()
    script.save(tmp_path / "own.py", 'dist.init_process_group("gloo")', [], 2)
    assert "init_process_group()" not in (tmp_path / "own.py").read_text()


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
