"""A program under torchrun: its port, how it fails, is stopped, and its notebook is killed.

That the page's is restarted after a kill, and ends where nobody was killed, is its claim.
"""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from torch.distributed import TCPStore

from course_utils.chapters.beyond_one_machine.launching import Launched, LaunchError
from course_utils.chapters.beyond_one_machine.torchrun import reserved_port
from course_utils.core import files

SLOW = """
import os, time
with open("starting", "w") as file:
    file.write(f"{os.getppid()} {os.getpid()}")
os.rename("starting", "started")
time.sleep(600)
"""
NOTEBOOK = f"""
import os, signal, time
from pathlib import Path
from tempfile import TemporaryDirectory
from course_utils.chapters.beyond_one_machine.launching import Launched

scratch = TemporaryDirectory()
folder = Path(scratch.name)
(folder / "slow.py").write_text({SLOW!r})
running = Launched("torchrun --standalone slow.py", scratch)
while not (folder / "started").exists():
    time.sleep(0.05)
Path("left").write_text((folder / "started").read_text() + " " + scratch.name)
os.kill(os.getpid(), signal.SIGKILL)
"""
HANG_SECONDS = 600  # the machine may be busy: no test waits so long for a right answer

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="starts processes as Linux does")


def wait_until(happened):
    end = time.monotonic() + HANG_SECONDS
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.05)


def is_alive(pid):
    status = Path(f"/proc/{pid}/stat")
    return status.exists() and status.read_text().rpartition(")")[2].split()[0] != "Z"


def test_a_reserved_port_is_for_the_store_that_asks_for_it_alone():
    port = reserved_port()
    with socket.socket() as other, pytest.raises(OSError, match="in use"):
        other.bind(("127.0.0.1", port))
    for _ in range(2):  # of a restart's ranks, too
        store = TCPStore("localhost", port, is_master=True)
        store.set("found", "it")
        assert TCPStore("localhost", port).get("found") == b"it"
        del store


def test_a_program_that_fails_is_told_with_what_it_said_last_or_with_its_exit_status(tmp_path):
    (tmp_path / "bad.py").write_text("raise ValueError('no such learning rate')")
    (tmp_path / "dies.py").write_text("import os\nos.abort()")
    started = []
    for name in ("bad", "dies"):
        (tmp_path / name).mkdir()
        started.append(Launched(f"torchrun --standalone ../{name}.py", tmp_path / name))
    with pytest.raises(LaunchError, match=r"torchrun failed \(1\)[\s\S]*no such learning rate"):
        started[0].wait(HANG_SECONDS)
    with pytest.raises(LaunchError, match="local rank 0 ended with exit status -6"):
        started[1].wait(HANG_SECONDS)
    with pytest.raises(ValueError, match="begins with torchrun"):
        Launched("rm -r .", tmp_path)


def test_a_program_that_takes_too_long_is_ended_with_its_ranks(tmp_path):
    (tmp_path / "slow.py").write_text(SLOW)
    running = Launched("torchrun --standalone slow.py", tmp_path)
    wait_until((tmp_path / "started").exists)
    with pytest.raises(LaunchError, match="took over 0 s"):
        running.wait(limit_seconds=0.1)
    assert not any(is_alive(pid) for pid in (tmp_path / "started").read_text().split())
    running.stop()  # again: nothing is left to stop


def test_a_killed_notebook_leaves_no_torchrun_no_rank_and_no_folder(tmp_path):
    """The notebook is killed outright, so nothing of its own can clean up."""
    with_course = os.environ | {"PYTHONPATH": files.python_path()}
    subprocess.run([sys.executable, "-c", NOTEBOOK], cwd=tmp_path, env=with_course, check=False)
    agent, rank, scratch = (tmp_path / "left").read_text().split()
    wait_until(lambda: not (is_alive(agent) or is_alive(rank) or Path(scratch).exists()))
