"""Threads that an answer left behind: who runs ends, who waits harms nobody."""

import subprocess
import sys
import threading
import time
from contextlib import suppress

from course_utils.core import files
from course_utils.core.stopping import stop

PROFILED = """
import os, threading, torch
from course_utils.core.stopping import stop

waits = threading.Thread(target=threading.Event().wait, daemon=True)
waits.start()
stop([waits])
with torch.profiler.profile(with_stack=True):
    sorted(range(10), key=lambda k: -k)
print("profiled", flush=True)
os._exit(0)
"""


def spin():
    while True:
        time.sleep(0.001)


def spin_quietly():
    with suppress(SystemExit):
        spin()


def test_a_thread_that_runs_ends():
    thread = threading.Thread(target=spin_quietly, daemon=True)
    thread.start()
    stop([thread])
    thread.join(5)
    assert not thread.is_alive()


def test_the_error_is_the_one_that_was_asked_for():
    raised = []

    def keep():
        try:
            spin()
        except KeyError as error:
            raised.append(error)

    thread = threading.Thread(target=keep, daemon=True)
    thread.start()
    stop([thread], KeyError)
    thread.join(5)
    assert len(raised) == 1


def test_a_thread_that_has_ended_or_never_began_is_no_error():
    ended = threading.Thread(target=int)
    ended.start()
    ended.join()
    stop([ended, threading.Thread(target=int)])


def test_beside_a_thread_that_waits_for_ever_a_profiler_with_stacks_goes_on():
    ran = subprocess.run(
        [sys.executable, "-c", PROFILED], capture_output=True, text=True, timeout=60, cwd=files.ROOT
    )
    assert ran.stdout.endswith("profiled\n")
