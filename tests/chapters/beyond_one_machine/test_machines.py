"""Scripts that a reader takes home; and, where Slurm and Open MPI are, that they start ranks."""

import os
import re
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


STANDS_IN = """#!/bin/bash
case "$(basename "$0") $1" in
    "scontrol show") echo node7 ;;
    scontrol*) echo "$@" ;;
    *) [ "$SIGNALLED" ] && kill -USR1 $PPID && until [ -e "$STOP" ]; do sleep 0.05; done
       [ "$(ls)" = "${SIGNALLED:+stop-7$'\n'}stop-8" ] || exit 9
       exit "$CODE" ;;
esac
"""


@pytest.mark.parametrize("name", [name for name in NAMES if name.endswith("sbatch")])
@pytest.mark.parametrize("signalled, code", [("yes", 0), ("yes", 3), ("", 0), ("", 3)])
def test_a_job_goes_back_to_the_queue_only_if_it_was_told_to_stop_and_ended_well(
    tmp_path, name, signalled, code
):
    here, commands = tmp_path / "here", tmp_path / "commands"
    here.mkdir()
    commands.mkdir()
    for old in ("stop-7", "stop-8"):  # one that it left itself, and another job's
        (here / old).touch()
    for command in ("srun", "scontrol"):
        (commands / command).write_text(STANDS_IN)
        (commands / command).chmod(0o755)
    told = {"PATH": f"{commands}:/usr/bin:/bin", "SLURM_JOB_ID": "7", "SLURM_NNODES": "2"}
    told |= {"SIGNALLED": signalled, "CODE": str(code), "SLURM_JOB_NODELIST": "node7"}
    done = subprocess.run(
        ["bash", SCRIPTS / name], env=told, cwd=here, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (code, "")
    assert done.stdout == ("requeue 7\n" if signalled and code == 0 else "")


def test_without_make_launchers_there_are_no_rows(tmp_path):
    program = tmp_path / "none.py"
    assert launcher_rows(program) == link_rows(program, 200, (4,)) == member_rows(program) == []


def launched(*words):
    """What a Python prints while tools/launchers.sh keeps Slurm running."""
    command = ["bash", files.ROOT / "tools" / "launchers.sh", sys.executable, *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


prepared = pytest.mark.skipif(
    not shutil.which("slurmctld") or os.geteuid() != 0,
    reason="wants root, and what `make launchers` installs",
)


@prepared
@pytest.mark.thorough("tools/launchers.sh", "course_utils/chapters/beyond_one_machine")
def test_every_launcher_starts_the_pages_program(tmp_path):
    (tmp_path / "hello.py").write_text(cells_of("16")["hello"])
    asked = "import sys; from course_utils.chapters.beyond_one_machine import launcher_rows as rows"
    sums = f"{asked}; print([row['sum'] for row in rows(sys.argv[1])])"
    assert launched("-c", sums, tmp_path / "hello.py").splitlines()[-1] == str(20 * [6])


CONNECTS = """
import os, signal, subprocess, threading
import notebook_ranks as ranks

SRUN = "srun -N2 -n4 --overcommit"
for command in (SRUN, "mpirun --allow-run-as-root --oversubscribe -n 4"):
    ranks.connect(command)
    print(ranks.pull("local_rank"))
for command in (f"{SRUN} --partition=none", "mpirun --allow-run-as-root -n 99"):
    try:
        ranks.connect(command)
    except ranks.RanksError as error:
        print(str(error).splitlines()[1])
threading.Timer(8, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    ranks.connect(f"{SRUN} --begin=now+1hour")
except KeyboardInterrupt:
    left = subprocess.run(["squeue", "--noheader"], capture_output=True, text=True).stdout
    print("interrupted, left:", left.split())
"""
CONNECTED = [
    r"\[0, 1, 0, 1\]",
    r"\[0, 1, 2, 3\]",
    "srun: error: invalid partition specified: none",
    "There are not enough slots available .*",
    "… the job is pending: .*",
    r"srun: job \d+ queued and waiting for resources",
    r"interrupted, left: \[\]",
]


@prepared
@pytest.mark.thorough("tools/launchers.sh", "packages/notebook_ranks/notebook_ranks/engine")
def test_a_notebook_connects_to_slurm_and_mpi_is_refused_and_cancels_a_pending_job():
    said = launched("-c", CONNECTS).splitlines()
    for line, wanted in zip(said, CONNECTED, strict=True):
        assert re.fullmatch(wanted, line)
