"""What a cell wrote comes with that cell, whole and at once, whatever it wrote with."""

import pytest

from notebook_ranks.cells.output import LIMIT_CHARS

DROPPED = f"more than {LIMIT_CHARS:,} characters in one cell: the rest is dropped"


def test_a_program_that_floods_is_thrown_away_as_fast_as_it_writes(said):
    flood = "import os\nos.system('yes | head -c 300000000')"
    text = said(flood, 2, limit_seconds=240)  # read five times a second it took 300 s or more
    assert text.count(DROPPED) == 2 and text.count("y\n") <= 2 * LIMIT_CHARS
    assert said("for i in range(60_000):\n    print(i)", 2).count(DROPPED) == 2
    assert said("print('next')", 2) == "[rank 0] next\n[rank 1] next\n"


ENDS = {
    "crashes": "__import__('ctypes').string_at(0)",
    "leaves": "os._exit(1)",
    "is killed": "os.kill(os.getpid(), 9)",
}


@pytest.mark.parametrize("end", ENDS)
def test_what_a_rank_said_before_it_died_is_shown_and_no_dump(end, capsys, failing):
    code = "import os\nprint('first')\nprint('second')\nos.system('echo third')\n"
    error = failing(f"{code}if rank:\n    {ENDS[end]}", 2)
    assert error.startswith("✗ rank 1") and " died " in error
    told = capsys.readouterr().out
    assert "[rank 1] first\n[rank 1] second\n[rank 1] third\n" in told
    assert "Fatal Python error" not in told and "Current thread" not in told


def test_the_last_words_of_a_rank_that_crashes_are_there_after_a_flood(failing):
    crash = "import ctypes, os\nos.system('yes | head -c 3000000')\nctypes.string_at(0)"
    assert "rank 0, line 3: died (killed by SIGSEGV)" in failing(crash, 1)


def test_letters_that_are_split_between_two_readings_stay_whole(said):
    code = "import os, time\nfor byte in 'é'.encode():\n    os.write(1, bytes([byte]))\n"
    assert said(code + "    time.sleep(0.7)", 1) == "[rank 0] é\n"


def test_a_pipe_that_holds_a_few_words_takes_no_processor(said):
    code = "import os, time\nused = time.process_time()\nos.write(1, b'.')\ntime.sleep(2)\n"
    assert said(f"{code}time.process_time() - used < 1", 1) == "[rank 0] True\n[rank 0] .\n"


REPLACED = {
    "a class that never flushes": "class Loud:\n    def write(self, text):\n"
    "        old.write(text.upper())\n    def flush(self):\n        pass\n"
    "old, sys.stdout = sys.stdout, Loud()\nprint('first')",
    "a redirection": "import contextlib, io\nkept = io.StringIO()\n"
    "with contextlib.redirect_stdout(kept):\n    print('FIRST')\nprint(kept.getvalue(), end='')",
    "nothing at all": "print('FIRST')\nsys.stdout = sys.stderr = None",
}


@pytest.mark.parametrize("how", REPLACED)
def test_whatever_a_cell_makes_of_stdout_its_words_come_and_the_next_cell_has_its_own(how, said):
    assert said(f"import sys\n{REPLACED[how]}", 1) == "[rank 0] FIRST\n"
    assert said("print('second')\nprint('third', file=sys.stderr)") == (
        "[rank 0] second\n[rank 0] third\n"
    )


def test_a_descriptor_that_a_cell_turned_away_leads_back_for_the_next(said):
    away = "import os\nos.dup2(os.open(os.devnull, os.O_WRONLY), 1)\nos.system('echo lost')"
    assert said(away, 1) == "[rank 0] 0\n"
    assert said("os.close(2)") == ""
    assert said("os.system('echo found; echo too >&2')") == (
        "[rank 0] 0\n[rank 0] found\n[rank 0] too\n"
    )


def test_what_a_thread_and_a_handler_print_after_their_cell_is_shown_with_the_next(said):
    late = "import threading\ngo_on = threading.Event()\n"
    late += "helper = threading.Thread(target=lambda: (go_on.wait(), print('late')))\n"
    assert said(f"{late}helper.start()", 1) == ""
    assert said("go_on.set()\nhelper.join()") == "[rank 0] late\n"
    said("import logging, sys\nlogging.basicConfig(stream=sys.stderr, format='%(message)s')")
    assert said("logging.warning('heard')") == "[rank 0] heard\n"
