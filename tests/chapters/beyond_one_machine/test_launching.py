"""The notebook's program under torchrun: restarted after a kill, on two nodes, stopped, refused."""

import os
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
import torch

from course_utils import ranks
from course_utils.chapters.beyond_one_machine import checkpoints
from course_utils.chapters.beyond_one_machine.launching import Launched, LaunchError, write_program
from course_utils.core import files
from tests.support.page_cells import cells_of
from tests.support.torchrun import free_port

CELLS = cells_of("14")

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="starts processes as Linux does")
WITH_COURSE = os.environ | {"PYTHONPATH": str(files.ROOT)}
NOTEBOOK = """
import os, signal, time
from pathlib import Path
from tempfile import TemporaryDirectory
from course_utils.chapters.beyond_one_machine.launching import Launched

scratch = TemporaryDirectory()
folder = Path(scratch.name)
program = "import os, time; print(os.getppid(), os.getpid(), flush=True); time.sleep(600)"
(folder / "slow.py").write_text(program)
running = Launched("torchrun --standalone slow.py", scratch)
while not running.lines():
    time.sleep(0.1)
Path("left").write_text(f"{running.lines()[0]} {scratch.name}")
os.kill(os.getpid(), signal.SIGKILL)
"""
PROGRAM = ("keep", "resumable", "main")  # cells of the page
OWN_STORE = {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}


@pytest.fixture(scope="module")
def functions(tmp_path_factory):
    """`save`, `train` and `main` of the page's cells, from files that hold these."""
    folder, names = tmp_path_factory.mktemp("cells"), {}
    for name in PROGRAM:
        path = folder / f"{name}_cell.py"
        path.write_text(CELLS[name])
        exec(compile(CELLS[name], str(path), "exec"), names)
    return names["save"], names["train"], names["main"]


@pytest.fixture(scope="module")
def unkilled(functions, tmp_path_factory):
    """The end of two ranks that nobody killed, as the notebook runs them."""
    folder = tmp_path_factory.mktemp("unkilled")
    ranks.start(2, device="cpu")
    try:
        losses = ranks.run(functions[1], folder)
    finally:
        ranks.stop()
    assert losses[0] == losses[1]
    return checkpoints.load(folder / "step-0012.pt")


@pytest.fixture
def program(functions, tmp_path):
    write_program(tmp_path / "train.py", *functions)
    return tmp_path


def require_equal(end, other):
    assert end["losses"] == other["losses"]
    pairs = zip(end["model"].values(), other["model"].values(), strict=True)
    assert all(torch.equal(*pair) for pair in pairs)


def test_a_program_is_its_cells_one_after_another(program):
    text = (program / "train.py").read_text()
    assert text == "\n\n\n".join(CELLS[name] for name in PROGRAM) + "\n"
    compile(text, "train.py", "exec")


def test_a_rank_killed_under_torchrun_is_restarted_and_ends_where_nobody_was_killed(
    program, unkilled
):
    words = "torchrun --standalone --nproc-per-node 2 --max-restarts 3 train.py kept cpu"
    running = Launched(words, program, **OWN_STORE)
    running.wait()
    starts = Counter(re.search(r"COUNT=(\d)$", line)[1] for line in running.lines())
    assert starts["0"] == 2 and all(n == 2 for n in starts.values()) and len(starts) >= 2
    require_equal(checkpoints.load(program / "kept" / "step-0012.pt"), unkilled)


def test_two_nodes_end_where_the_notebook_does(program, unkilled, functions):
    words = (
        f"torchrun --nnodes 2 --nproc-per-node 1 --rdzv-backend c10d --max-restarts 2 "
        f"--rdzv-endpoint 127.0.0.1:{free_port()} --rdzv-id course train.py kept cpu"
    )
    nodes = []
    for name in ("one", "two"):
        (program / name).mkdir()
        (program / name / "kept").symlink_to(program / "kept")
        write_program(program / name / "train.py", *functions)
        nodes.append(Launched(words, program / name, **OWN_STORE))
    (program / "kept").mkdir()
    for node in nodes:
        node.wait()
    require_equal(checkpoints.load(program / "kept" / "step-0012.pt"), unkilled)


def test_a_program_that_fails_is_told_with_what_it_said_last(tmp_path):
    (tmp_path / "bad.py").write_text("raise ValueError('no such learning rate')")
    with pytest.raises(LaunchError, match=r"torchrun failed \(1\)[\s\S]*no such learning rate"):
        Launched("torchrun --standalone bad.py", tmp_path).wait()


def test_a_rank_that_dies_without_a_word_is_told_with_its_exit_status(tmp_path):
    (tmp_path / "dies.py").write_text("import os\nos.abort()")
    with pytest.raises(LaunchError, match="local rank 0 ended with exit status -6"):
        Launched("torchrun --standalone dies.py", tmp_path).wait()


def test_a_program_that_takes_too_long_is_ended_with_its_ranks(tmp_path):
    (tmp_path / "slow.py").write_text(
        "import os, time\nopen('pid', 'w').write(str(os.getpid()))\ntime.sleep(600)"
    )
    running = Launched("torchrun --standalone slow.py", tmp_path)
    with pytest.raises(LaunchError, match="took over 8 s"):
        running.wait(limit_seconds=8)
    pid = int((tmp_path / "pid").read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    running.stop()  # again: nothing is left to stop


def test_a_killed_notebook_leaves_no_torchrun_no_rank_and_no_folder(tmp_path):
    """The notebook is killed outright, so nothing of its own can clean up."""
    (tmp_path / "notebook.py").write_text(NOTEBOOK)
    subprocess.run([sys.executable, "notebook.py"], cwd=tmp_path, env=WITH_COURSE, check=False)
    agent, rank, scratch = (tmp_path / "left").read_text().split()
    end = time.monotonic() + 20
    while (alive(agent) or alive(rank) or Path(scratch).exists()) and time.monotonic() < end:
        time.sleep(0.1)
    assert (alive(agent), alive(rank), Path(scratch).exists()) == (False, False, False)


def alive(pid):
    status = Path(f"/proc/{pid}/stat")
    return status.exists() and status.read_text().rpartition(")")[2].split()[0] != "Z"


def test_only_torchrun_is_started(tmp_path):
    with pytest.raises(ValueError, match="begins with torchrun"):
        Launched("rm -r .", tmp_path)
