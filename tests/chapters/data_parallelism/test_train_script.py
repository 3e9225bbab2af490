"""The notebook's training under torchrun: restarted after a kill, on two nodes, and without it."""

import ast
import json
import os
import re
import subprocess
import sys

import pytest

from course_utils import ranks
from course_utils.chapters.data_parallelism.train_script import OWN_STORE, save_script
from course_utils.core import files
from tests.support.torchrun import TORCHRUN, free_port

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="starts processes as Linux does")
# torchrun names one rank only: the killed one, or its peer, which aborts (-6) or raises (1) when
# the connection breaks and which a busy machine may show it first.
FIRST_FAILURE = re.compile(r"failed \(exitcode: (-9|-6|1)\) local_rank: [01] ")


@pytest.fixture(scope="module")
def functions(tmp_path_factory):
    """The cells `keep` and `resumable` of chapter 12, as functions of files that hold them."""
    chapter = json.loads((files.NOTEBOOKS / "12_data_parallelism.ipynb").read_text())
    cells = {cell["id"]: "".join(cell["source"]) for cell in chapter["cells"]}
    folder, names = tmp_path_factory.mktemp("cells"), {"torch": __import__("torch")}
    for name in ("keep", "resumable"):
        path = folder / f"{name}_cell.py"
        path.write_text(cells[name])
        exec(compile(cells[name], str(path), "exec"), names)
    return names["keep"], names["train"]


@pytest.fixture(scope="module")
def losses(functions, tmp_path_factory):
    """Those of two ranks that nobody killed, as the notebook runs them."""
    ranks.start(2, device="cpu")
    try:
        return ranks.run(functions[1], tmp_path_factory.mktemp("whole"))[0]
    finally:
        ranks.stop()


@pytest.fixture
def start(functions, tmp_path):
    """Starts the script with a command's words, in an environment of its own."""
    script = tmp_path / "train.py"
    save_script(script, *functions)
    base = {k: v for k, v in os.environ.items() if k not in ("RANK", "WORLD_SIZE")}
    own = {**base, "PYTHONPATH": str(files.ROOT), "CHECKPOINTS": str(tmp_path / "checkpoints")}

    def begin(*words, **environment):
        return subprocess.Popen(
            [*map(str, words), script], env={**own, **environment}, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    return begin


def ended(process):
    try:
        out, said = process.communicate(timeout=120)
    except subprocess.TimeoutExpired:
        process.terminate()  # torchrun ends its ranks
        out, said = process.communicate(timeout=60)
    return process.returncode, out, said


def test_a_rank_killed_under_torchrun_is_restarted_and_the_losses_are_the_same(
    start, losses, tmp_path
):
    name, _, value = OWN_STORE.partition("=")
    words = (TORCHRUN, "--standalone", "--nproc-per-node", 2, "--max-restarts", 3)
    status, out, said = ended(start(*words, DIE_AT="7", **{name: value}))
    assert status == 0, said
    assert FIRST_FAILURE.search(said), said
    assert ast.literal_eval(out.splitlines()[-1]) == losses
    kept = sorted(path.name for path in (tmp_path / "checkpoints").iterdir())
    assert kept == ["step-0004.pt", "step-0008.pt", "step-0012.pt"]


def test_two_nodes_give_the_losses_of_the_notebook(start, losses):
    port = free_port()
    agents = [
        start(
            TORCHRUN, "--nnodes", 2, "--nproc-per-node", 1, "--rdzv-backend", "c10d",
            "--rdzv-endpoint", f"127.0.0.1:{port}", "--rdzv-id", "course",
        )
        for _ in range(2)
    ]  # fmt: skip
    results = [ended(agent) for agent in agents]
    assert [status for status, _, _ in results] == [0, 0], results
    assert ast.literal_eval("".join(out for _, out, _ in results)) == losses


def test_without_torchrun_the_script_says_how_to_start_it(start, tmp_path):
    status, out, said = ended(start(sys.executable))
    assert status == 1 and not out
    assert said.strip() == ("No rank was given. Start it so: torchrun --nproc-per-node 2 train.py")
    assert not (tmp_path / "checkpoints").exists()
