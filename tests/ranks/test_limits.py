"""How long a cell may take: as long as something moves, unless it was given a limit."""

import sys

import pytest

from course_utils import ranks
from course_utils.ranks.engine import turn

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="starts processes as Linux does"),
    pytest.mark.usefixtures("ended_at_last"),
]
BUSY = {
    "it computes": "end = time.monotonic() + 3.5\nwhile time.monotonic() < end:\n    pass",
    "its child computes": "subprocess.run([sys.executable, '-c', 'import time\\n"
    "while time.process_time() < 3: pass'])",
    "it prints now and then": "for i in range(6):\n    time.sleep(0.6)\n    print(i, flush=True)",
    "it comes to another line": "".join("time.sleep(0.8)\n" for _ in range(6)),
    "one rank works, the other waits": "x = torch.ones(1)\nend = time.monotonic() + 3.5\n"
    "while rank and time.monotonic() < end:\n    pass\ndist.all_reduce(x)",
}


@pytest.mark.parametrize("name", BUSY)
def test_a_cell_in_which_something_moves_goes_on_without_an_option(name, monkeypatch):
    ranks.run_cell("mine = rank", 2)
    monkeypatch.setattr(turn, "STILL_SECONDS", 1.5)
    ranks.run_cell(f"import sys, subprocess, time\n{BUSY[name]}")


def test_a_cell_in_which_nothing_moves_is_stopped_and_told_of_the_option(monkeypatch, capsys):
    ranks.run_cell("mine = rank", 2)
    monkeypatch.setattr(turn, "ALONE_SECONDS", 2)
    with pytest.raises(ranks.RankError, match="nothing moved on any rank for 2 s") as error:
        ranks.run_cell("import time\ntime.sleep(60)")
    assert "--timeout N" in str(error.value) and "time.sleep(60)" in str(error.value)
    ranks.run_cell("import time\ntime.sleep(3)\nmine", limit_seconds=20)
    assert capsys.readouterr().out == "[rank 0] 0\n[rank 1] 1\n"


SERVER = "import socket, threading\nfar, near = socket.socketpair()\n" + (
    "threading.Timer(3.5, far.send, [b'!']).start()\n"
)
STILL = {
    "all sleep": "time.sleep(3.5)",
    "one waits for a server": f"if rank == 0:\n    {SERVER.replace(chr(10), chr(10) + '    ')}"
    "near.recv(1)\ndist.barrier()",
    "one waits for a program": "import subprocess\n"
    "if rank == 0: subprocess.run(['sleep', '3.5'])\ndist.barrier()",
    "a thread sends later": "import threading\nx = torch.ones(1)\n"
    "if rank: threading.Timer(3.5, dist.send, [x, 0]).start()\n"
    "else: dist.recv(x, 1)\ndist.barrier()",
    "a wait gives up of itself": "from datetime import timedelta\n"
    "try: dist.distributed_c10d._get_default_store().wait(['no'], timedelta(seconds=3.5))\n"
    "except RuntimeError: pass",
}


@pytest.mark.parametrize("name", STILL)
def test_who_waits_for_something_but_the_ranks_goes_on(name, monkeypatch):
    ranks.run_cell("mine = rank", 2)
    monkeypatch.setattr(turn, "STILL_SECONDS", 1.5)
    ranks.run_cell(f"import time\n{STILL[name]}")


def test_ranks_that_all_wait_are_stopped_early(monkeypatch):
    ranks.run_cell("mine = rank", 2)
    monkeypatch.setattr(turn, "STILL_SECONDS", 1.5)
    monkeypatch.setattr(turn, "ALONE_SECONDS", 20)
    with pytest.raises(ranks.RankError, match="nothing moved on any rank for 1\\.5 s"):
        ranks.run_cell(
            "import subprocess\nchild = subprocess.Popen(['sleep', '60'])\n"
            "dist.distributed_c10d._get_default_store().get('a key that nobody sets')"
        )


def test_a_limit_stops_a_cell_that_works():
    ranks.start(1)
    with pytest.raises(ranks.RankError, match="limit of 1 s"):
        ranks.run_cell("while True: pass", limit_seconds=1)


def test_a_long_cell_says_where_it_is_more_than_once(monkeypatch, capsys):
    ranks.start(1)
    monkeypatch.setattr(turn, "TELL_SECONDS", 1)
    monkeypatch.delenv(turn.UNATTENDED, raising=False)
    ranks.run_cell("import time\ntime.sleep(5)")
    said = capsys.readouterr().out
    assert [f"running for {s} s" in said for s in (1, 2, 4, 8)] == [True, True, True, False]


def test_a_long_cell_that_awaits_says_where_it_is(monkeypatch, capsys):
    ranks.start(1)
    monkeypatch.setattr(turn, "TELL_SECONDS", 1)
    monkeypatch.delenv(turn.UNATTENDED, raising=False)
    ranks.run_cell("import asyncio\nasync def f():\n    await asyncio.sleep(2.5)\nawait f()")
    assert "rank 0: working at line 3: await asyncio.sleep(2.5)" in capsys.readouterr().out


def test_torchs_own_clock_does_not_end_a_cell_before_the_notebook_does(capsys):
    ranks.run_cell("dist.group.WORLD._get_backend(device).options._timeout.total_seconds()", 1)
    assert float(capsys.readouterr().out.split()[-1]) == 86_400
