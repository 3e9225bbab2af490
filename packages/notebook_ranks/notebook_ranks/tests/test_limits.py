"""How long a cell may take: as long as something moves, unless it was given a limit."""

import pytest

import notebook_ranks as ranks
from notebook_ranks.engine import crew
from notebook_ranks.watch.stall import Pulse

SAMPLES = 4  # after so many, a sign of life isn't one of the cell's beginning
ALIVE = {  # each of them ends once it was seen to move
    "its child computes": "subprocess.run([sys.executable, '-c', 'import os, sys\\n'\n"
    "                'while not os.path.exists(sys.argv[1]): pass', flag])",
    "a thread prints": "def tell():\n    while not os.path.exists(flag):\n"
    "        time.sleep(0.1)\n        print('.', flush=True)\n"
    "helper = threading.Thread(target=tell)\nhelper.start()\nhelper.join()",
    "it comes to another line": "while not os.path.exists(flag):\n    time.sleep(0.3)\n"
    "    time.sleep(0.3)",
}


@pytest.mark.parametrize("name", ALIVE)
def test_a_cell_in_which_something_moves_goes_on_without_an_option(name, monkeypatch, tmp_path):
    flag = tmp_path / "seen"

    class Seen(Pulse):
        samples = 0

        def beat(self, now):
            super().beat(now)
            self.look(now)

        def sample(self, rank, place, now):
            super().sample(rank, place, now)
            self.samples += 1
            self.look(now)

        def look(self, now):
            if self.samples > SAMPLES and self.still(now) == 0:
                flag.touch()

    ranks.run_cell(f"flag = '{flag}'\nimport os, sys, subprocess, threading, time", 1)
    monkeypatch.setattr(crew, "Pulse", Seen)
    monkeypatch.setattr(crew, "ALONE_SECONDS", 240)
    ranks.run_cell(ALIVE[name])


def test_a_cell_in_which_nothing_moves_is_stopped_and_told_of_the_option(
    monkeypatch, said, failing
):
    ranks.run_cell("mine = rank", 2)
    monkeypatch.setattr(crew, "ALONE_SECONDS", 1)
    error = failing("import time\ntime.sleep(1000)")
    assert "nothing moved on any rank for 1 s" in error
    assert "--timeout N" in error and "time.sleep(1000)" in error
    well = said("import time\ntime.sleep(2)\nmine", limit_seconds=120)
    assert well == "[rank 0] 0\n[rank 1] 1\n"


STILL = {
    "one waits for a program": "if rank == 0:\n    subprocess.run(['sleep', '2'])",
    "a thread sends later": "x = torch.ones(1)\n"  # later than any patience with a deadlock
    "if rank: threading.Timer(4.5, dist.send, [x, 0]).start()\nelse: dist.recv(x, 1)",
}


@pytest.mark.parametrize("name", STILL)
def test_who_waits_for_something_but_the_ranks_goes_on(name, monkeypatch):
    ranks.run_cell("import subprocess, threading", 2)
    monkeypatch.setattr(crew, "STILL_SECONDS", 1)
    ranks.run_cell(STILL[name])


def test_ranks_that_all_wait_are_stopped_early(monkeypatch, failing):
    ranks.run_cell("mine = rank", 2)
    monkeypatch.setattr(crew, "STILL_SECONDS", 1.5)
    assert "nothing moved on any rank for 1.5 s" in failing(
        "import subprocess\nchild = subprocess.Popen(['sleep', '1000'])\n"
        "dist.distributed_c10d._get_default_store().get('a key that nobody sets')"
    )


def test_a_limit_stops_a_cell_that_works_and_a_longer_one_is_the_notebooks_from_then_on(
    monkeypatch, said, failing
):
    monkeypatch.setattr(ranks.session.now, "limit_seconds", None)
    ranks.start(1, limit_seconds=1)
    assert "limit of 1 s" in failing("while True: pass")
    ranks.start(limit_seconds=120)
    assert said("import time\ntime.sleep(1.5)\nrank") == "[rank 0] 0\n"


def test_a_long_cell_says_where_it_is_more_than_once_to_somebody_who_watches(monkeypatch, said):
    monkeypatch.setattr(crew, "TELL_SECONDS", 1)
    cell = "import asyncio\nasync def f():\n    await asyncio.sleep({})\nawait f()"
    assert said(cell.format(1.5), 1) == ""
    monkeypatch.delenv(crew.UNATTENDED)
    told = said(cell.format(3))
    assert "running for 1 s" in told and "running for 2 s" in told
    assert "rank 0: working at line 3: await asyncio.sleep(3)" in told


def test_torchs_own_clock_does_not_end_a_cell_before_the_notebook_does(said):
    told = said("dist.group.WORLD._get_backend(device).options._timeout.total_seconds()", 1)
    assert float(told.split()[-1]) == 86_400
