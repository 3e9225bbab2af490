"""Scripts that a reader takes home; and, where Slurm and Open MPI are, that they start ranks."""

import os
import shutil
import subprocess
import sys

import pytest

from course_utils.chapters.beyond_one_machine import launcher_rows, link_rows, member_rows, script
from course_utils.chapters.beyond_one_machine.machines import SCRIPTS
from course_utils.core import files
from tests.support.page_cells import cells_of

NAMES = [path.name for path in SCRIPTS.iterdir()]
SRUN = {"SLURM_PROCID": "6", "SLURM_LOCALID": "2", "SLURM_STEP_NUM_TASKS": "8"}
BATCH = {"SLURM_PROCID": "0", "SLURM_LOCALID": "0", "SLURM_STEP_NUM_TASKS": "2"}
MPIRUN = {f"OMPI_COMM_WORLD_{name}": n for name, n in
          (("RANK", "6"), ("LOCAL_RANK", "2"), ("SIZE", "8"))}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_bash_can_read_a_script(name):
    assert script(name).startswith("#!/bin/bash\n")
    subprocess.run(["bash", "-n", SCRIPTS / name], check=True)


@pytest.mark.parametrize("told", [SRUN, MPIRUN, BATCH | MPIRUN], ids=["srun", "mpirun", "nested"])
def test_the_wrapper_gives_torchs_names_and_becomes_the_program(told):
    asked = "import os; print(*(os.environ[n] for n in ('RANK', 'LOCAL_RANK', 'WORLD_SIZE')))"
    command = ["bash", SCRIPTS / "as_rank.sh", sys.executable, "-c", asked]
    done = subprocess.run(command, env=told, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["6", "2", "8"]


def test_without_make_launchers_there_are_no_rows(tmp_path):
    program = tmp_path / "none.py"
    assert launcher_rows(program) == link_rows(program, 200, (4,)) == member_rows(program) == []


@pytest.mark.thorough("tools/launchers.sh", "course_utils/chapters/beyond_one_machine")
@pytest.mark.skipif(
    not shutil.which("slurmctld") or os.geteuid() != 0,
    reason="wants root, and what `make launchers` installs",
)
def test_every_launcher_starts_the_pages_program(tmp_path):
    (tmp_path / "hello.py").write_text(cells_of("16")["hello"])
    asked = "import sys; from course_utils.chapters.beyond_one_machine import launcher_rows as rows"
    done = subprocess.run(
        ["bash", files.ROOT / "tools" / "launchers.sh", sys.executable, "-c",
         f"{asked}; print([row['sum'] for row in rows(sys.argv[1])])", tmp_path / "hello.py"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.splitlines()[-1] == str(20 * [6])
