"""What a cell wrote comes with that cell, whole and at once, whatever it wrote with."""

import sys

import pytest

from course_utils import ranks
from course_utils.ranks.cells.output import LIMIT_CHARS

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="starts processes as Linux does")
DROPPED = f"more than {LIMIT_CHARS:,} characters in one cell: the rest is dropped"
LATE = "import threading\nthreading.Timer(0.3, print, ['late']).start()"


@pytest.fixture(scope="module", autouse=True)
def ended():
    yield
    ranks.stop()


def said(capsys, source, n=1):
    ranks.run_cell(source, n)
    heard = capsys.readouterr()
    return heard.out + heard.err


def test_a_program_that_floods_is_thrown_away_as_fast_as_it_writes(capsys):
    flood = "import os\nos.system('yes | head -c 300000000')"
    ranks.run_cell(flood, 2, limit_seconds=60)  # read five times a second it took 300 s or more
    text = capsys.readouterr().out
    assert text.count(DROPPED) == 2 and text.count("y\n") <= 2 * LIMIT_CHARS
    assert said(capsys, "print('next')", 2) == "[rank 0] next\n[rank 1] next\n"


def test_a_pipe_that_is_empty_or_holds_a_few_words_takes_no_processor(capsys):
    code = "import os, time\nused = time.process_time()\nfor _ in range(6):\n"
    code += "    os.write(1, b'.')\n    time.sleep(0.3)\ntime.sleep(2)\n"
    assert said(capsys, code + "time.process_time() - used < 0.2") == (
        "[rank 0] True\n[rank 0] ......\n"
    )


def test_a_few_words_stay_in_the_pipe_for_a_while_for_whoever_finds_the_rank_dead(capsys):
    code = (
        "import fcntl, os, struct, termios, time\nos.write(1, b'words')\nbegun = time.monotonic()\n"
    )
    code += "while struct.unpack('i', fcntl.ioctl(1, termios.FIONREAD, b'    '))[0]:\n"
    code += "    time.sleep(0.001)\ntime.monotonic() - begun > 0.3"
    assert said(capsys, code) == "[rank 0] True\n[rank 0] words\n"


def test_the_last_words_of_a_rank_that_crashes_are_there_after_a_flood(capsys):
    crash = "import ctypes, os\nos.system('yes | head -c 3000000')\nctypes.string_at(0)"
    with pytest.raises(ranks.RankError, match=r"rank 0, line 3: died \(killed by SIGSEGV\)"):
        ranks.run_cell(crash, 1)


ENDS = {
    "crashes": "__import__('ctypes').string_at(0)",
    "leaves": "os._exit(1)",
    "is killed": "os.kill(os.getpid(), 9)",
}


@pytest.mark.parametrize("end", ENDS)
def test_what_a_rank_said_before_it_died_is_shown_and_no_dump(end, capsys):
    code = "import os\nprint('first')\nprint('second')\nos.system('echo third')\n"
    with pytest.raises(ranks.RankError, match=r"rank 1.* died"):
        ranks.run_cell(f"{code}if rank:\n    {ENDS[end]}", 2)
    told = capsys.readouterr().out
    assert "[rank 1] first\n[rank 1] second\n[rank 1] third\n" in told
    assert "Fatal Python error" not in told and "Current thread" not in told


def test_letters_that_are_split_between_two_readings_stay_whole(capsys):
    code = "import os, time\nfor byte in '≈é'.encode():\n    os.write(1, bytes([byte]))\n"
    assert said(capsys, code + "    time.sleep(0.7)") == "[rank 0] ≈é\n"


REPLACED = {
    "a class that never flushes": "class Loud:\n    def write(self, text):\n"
    "        old.write(text.upper())\n    def flush(self):\n        pass\n"
    "old, sys.stdout = sys.stdout, Loud()\nprint('first')",
    "one that keeps it all": "import io\nclass Raw(io.RawIOBase):\n    def writable(self):\n"
    "        return True\n    def write(self, data):\n        old.write(bytes(data).decode())\n"
    "        return len(data)\n"
    "old, sys.stdout = sys.stdout, io.TextIOWrapper(io.BufferedWriter(Raw()))\nmine = sys.stdout\n"
    "print('FIRST')",
    "one whose flush fails": "class Bad:\n    __hash__ = None\n    write = sys.stdout.write\n"
    "    def flush(self):\n        1 / 0\nsys.stdout = Bad()\nprint('FIRST')",
    "the stream under it": "print('FI', end='')\nprint('RS', end='', file=sys.__stdout__)\n"
    "print('T')",
    "a handler": "import logging\nlog = logging.getLogger('mine')\n"
    "log.addHandler(logging.StreamHandler(sys.stdout))\nlog.warning('FIRST')",
    "a redirection": "import contextlib, io\nkept = io.StringIO()\n"
    "with contextlib.redirect_stdout(kept):\n    print('FIRST')\nprint(kept.getvalue(), end='')",
    "nothing at all": "print('FIRST')\nsys.stdout = sys.stderr = None",
}


@pytest.mark.parametrize("how", REPLACED)
def test_whatever_a_cell_makes_of_stdout_its_words_come_and_the_next_cell_has_its_own(how, capsys):
    assert said(capsys, f"import sys\n{REPLACED[how]}") == "[rank 0] FIRST\n"
    assert said(capsys, "print('second')\nprint('third', file=sys.stderr)") == (
        "[rank 0] second\n[rank 0] third\n"
    )


def test_a_descriptor_that_a_cell_turned_away_leads_back_for_the_next(capsys):
    away = "import os\nos.dup2(os.open(os.devnull, os.O_WRONLY), 1)\nos.system('echo lost')"
    assert said(capsys, away) == "[rank 0] 0\n"
    assert said(capsys, "os.close(2)") == ""
    assert said(capsys, "os.system('echo found; echo too >&2')") == (
        "[rank 0] 0\n[rank 0] found\n[rank 0] too\n"
    )


def test_what_a_thread_prints_after_its_cell_is_shown_with_the_next(capsys):
    assert said(capsys, LATE) == ""
    ranks.run_cell("import time\ntime.sleep(0.8)", 1)
    assert capsys.readouterr().out == "[rank 0] late\n"


def test_a_handler_of_an_earlier_cell_speaks_in_a_later_one(capsys):
    said(
        capsys, "import logging, sys\nlogging.basicConfig(stream=sys.stderr, format='%(message)s')"
    )
    assert said(capsys, "logging.warning('heard')") == "[rank 0] heard\n"
