"""Ranks that others start: torchrun (two agents), a stand-in for srun, new Pythons."""

import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

import notebook_ranks as ranks
from notebook_ranks import session
from notebook_ranks.engine import crew
from notebook_ranks.engine.starters import CONNECT_SECONDS, program_of
from notebook_ranks.session import START
from notebook_ranks.tests import THOROUGH
from notebook_ranks.tests.torchrun import TORCHRUN, free_port

SUM = "x = torch.ones(2) * rank\ndist.all_reduce(x)\nx.tolist(), world_size"


@pytest.fixture
def sums(said, failing, ended):
    """Checks that `n` ranks add up, and say the same of a fault as forked ones do."""

    def check(n):
        total = sum(range(n))
        wanted = "".join(f"[rank {r}] ([{total}.0, {total}.0], {n})\n" for r in range(n))
        assert said(SUM) == wanted
        error = failing("if rank == 1:\n    1 / 0\ndist.barrier()", limit_seconds=240)
        assert error.startswith("✗ rank 1, line 2: ZeroDivisionError: division by zero")
        assert "waiting at line 3 in barrier" in error

    return check


def test_two_agents_of_torchrun_are_two_nodes_and_their_ranks_keep_their_number(sums):
    where = f"--rdzv-backend c10d --rdzv-id 1 --rdzv-endpoint 127.0.0.1:{free_port()}"
    agent = f"{TORCHRUN} --nnodes 2 --nproc-per-node 2 {where}"
    ranks.connect(agent, agent)
    assert ranks.pull("local_rank") == [0, 1, 0, 1]
    sums(4)
    with pytest.raises(ranks.RanksError, match="The command starts 4 ranks, not 3"):
        ranks.start(3)


@THOROUGH
def test_srun_is_understood_as_a_stand_in_plays_it(sums, tmp_path):
    """No Slurm here: the stand-in sets what srun sets, and starts as many processes."""
    stand_in = tmp_path / "srun"
    stand_in.write_text(
        "#!/bin/sh\nfor i in 0 1; do SLURM_PROCID=$i SLURM_NTASKS=2 SLURM_LOCALID=$i "
        'SLURM_NTASKS_PER_NODE=2 "$@" & done\nwait\n'
    )
    stand_in.chmod(0o755)
    ranks.connect(str(stand_in))
    sums(2)


def test_where_no_process_can_be_forked_new_ones_are_spawned(
    said, failing, sums, monkeypatch, tmp_path
):
    ranks.stop()
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path))  # another is active: IPython would warn of it
    monkeypatch.setenv(START, "spawn")
    ranks.start(2)
    sums(2)
    assert said("rank") == "[rank 0] 0\n[rank 1] 1\n"
    assert "✗ rank 1" in (error := failing(DIES)) and "killed by SIGKILL" in error


WARNS = """import os, socket, time
name = socket.gethostname

def slow():
    os.write(2, b"[W socket.cpp:755] this address has no name\\n")
    time.sleep(1)
    return name()

socket.gethostname = slow
"""


def test_a_library_may_warn_before_a_rank_has_said_who_it_is(said, monkeypatch, tmp_path):
    """As torch's store does where an address has no name."""
    ranks.stop()
    (tmp_path / "sitecustomize.py").write_text(WARNS)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}")
    monkeypatch.setenv(START, "spawn")
    ranks.start(2)
    assert "[rank 1] 1\n" in said("rank")


@pytest.mark.parametrize(
    "command, says",
    {
        "false": "The ranks didn't start: none reported",
        "nosuch -n 2": "There is no program 'nosuch'",
        "sh -c 'echo the reason >&2; seq 20 >&2; false'": "reason\n1\n2\n3\n4\n…\n16\n17",
    }.items(),
)
def test_a_command_that_brings_no_ranks_is_a_sentence_and_not_run_again(command, says, ended):
    with pytest.raises(ranks.RanksError, match=rf"{says}[\s\S]*\nNo launcher is connected now"):
        ranks.connect(command)
    with pytest.raises(ranks.RanksError, match="Say how many"):
        ranks.start()


@pytest.fixture
def srun(tmp_path):
    """Writes a stand-in for srun, which does as a shell script says; gives its path."""

    def write(script):
        path = tmp_path / "srun"
        path.write_text(f"#!/bin/sh\ncd {tmp_path}\n{script}\n")
        path.chmod(0o755)
        return str(path)

    return write


QUEUED = "echo 'srun: job 2 queued and waiting for resources' >&2"
ALLOCATED = "echo 'srun: job 2 has been allocated resources' >&2"


@pytest.mark.parametrize(
    "script, says",
    {
        f"{QUEUED}; sleep 1.5; echo revoked >&2": "revoked",  # later than ranks may be
        f"{QUEUED}; sleep 1; {ALLOCATED}; sleep 100": "has been allocated resources\nNo launcher",
    }.items(),
)
def test_a_pending_job_is_said_to_wait_and_may(script, says, srun, monkeypatch, capsys, ended):
    monkeypatch.setattr(crew, "QUEUE_SECONDS", 0)
    monkeypatch.setattr(crew, "CONNECT_SECONDS", 0.5)
    with pytest.raises(ranks.RanksError, match=says):
        ranks.connect(srun(script))
    assert capsys.readouterr().out.count(f"{crew.PENDING}\nsrun: job 2 queued and waiting") == 1


@pytest.fixture
def interruptible():
    """Ctrl-C raises here, as in a notebook; a run in the background would ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_cancels_a_pending_job(srun, tmp_path, interruptible, ended):
    command = srun(f"trap 'touch cancelled; exit 1' TERM\n{QUEUED}; touch pending\n"
                   "while sleep 0.1; do :; done")  # fmt: skip

    def interrupt():
        while not (tmp_path / "pending").exists():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        ranks.connect(command)
    assert (tmp_path / "cancelled").exists()
    with pytest.raises(ranks.RanksError, match="Say how many"):
        ranks.start()


def test_where_one_of_two_commands_ends_the_other_is_not_waited_for(ended):
    began = time.monotonic()
    with pytest.raises(ranks.RanksError, match="no such node"):
        ranks.connect("sleep 100", "sh -c 'echo no such node >&2'")
    assert time.monotonic() - began < CONNECT_SECONDS / 2


def test_a_launcher_that_dies_later_and_refuses_then_is_left(said, srun, ended):
    told = "SLURM_PROCID=0 SLURM_NTASKS=1 SLURM_LOCALID=0 SLURM_NTASKS_PER_NODE=1"
    refuses = "test -e used && { echo 'srun: error: job 2 is over' >&2; exit 1; }"
    ranks.connect(srun(f'{refuses}; touch used; exec env {told} "$@"'))
    os.kill(ranks.run(os.getpid)[0], signal.SIGKILL)
    time.sleep(0.5)
    with pytest.raises(ranks.RanksError, match="job 2 is over\nNo launcher is connected now"):
        ranks.run_cell("rank")
    with pytest.raises(ranks.RanksError, match="Say how many"):
        ranks.run_cell("rank")


def test_torchrun_is_found_beside_this_python(said, monkeypatch, ended):
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    ranks.connect("torchrun --nproc-per-node 1")
    assert said("rank") == "[rank 0] 0\n"


def test_the_program_is_named_as_each_starter_wants_it():
    assert program_of(["python", "-m", "torch.distributed.run"])[0] == "-m"
    assert program_of(["mpirun", "-n", "2"])[:2] == ["-x", "NOTEBOOK_RANKS"]
    assert program_of(["srun"])[0] == sys.executable


@THOROUGH
@pytest.mark.parametrize("start", ["spawn", "torchrun"])
def test_a_rank_that_dies_at_the_start_is_named_with_its_last_words(
    start, monkeypatch, tmp_path, ended
):
    (tmp_path / "sitecustomize.py").write_text(
        "import os, sys\nif os.environ.get('RANK') == '1':\n"
        "    sys.stderr.write('no room on the disk\\n')\n    os._exit(3)\n"
    )
    ranks.stop()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv(START, "spawn")
    with pytest.raises(ranks.RanksError, match=r"rank 1 died \(the .* status 3\)\.\nno room on"):
        ranks.start(3) if start == "spawn" else ranks.connect(f"{TORCHRUN} --nproc-per-node 3")


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
    with pytest.raises(ranks.RanksError, match=r"rank 0 died \(killed by SIGKILL"):
        ranks.start(12)
    killer.join()
    ranks.run_cell("dist.barrier()", 2)


DIES = "import os, time\nif rank:\n    os.kill(os.getpid(), 9)\ntime.sleep(1000)"


@THOROUGH
def test_a_rank_of_torchrun_that_dies_while_others_compute_is_named(failing, ended):
    ranks.connect(f"{TORCHRUN} --nproc-per-node 2")
    assert "✗ rank 1" in (error := failing(DIES, limit_seconds=240)) and "SIGKILL" in error


@THOROUGH
def test_after_a_crash_torchrun_starts_new_ranks(said, failing, ended):
    ranks.connect(f"{TORCHRUN} --nproc-per-node 2")
    crash = "import os\nif rank:\n    os._exit(3)\ndist.barrier()"
    assert "status 3" in failing(crash, limit_seconds=240)
    assert said("rank") == "[rank 0] 0\n[rank 1] 1\n"


def test_a_rank_that_died_between_two_cells_is_replaced_before_the_next(said, ended):
    ranks.start(2)
    killed = ranks.run(os.getpid)[1]
    time.sleep(0.5)  # until each has said what it left, which nobody reads before the next cell
    os.kill(killed, signal.SIGKILL)
    time.sleep(0.5)
    told = said("rank")
    assert told.startswith("The ranks were gone. These are new ones")
    assert told.endswith("\n[rank 0] 0\n[rank 1] 1\n")
