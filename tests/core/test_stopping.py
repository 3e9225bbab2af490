"""Threads that an answer left behind: those that run end, those that wait harm nobody."""

import subprocess
import sys
import threading
import time

import pytest

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


def test_a_thread_that_runs_ends_with_the_error_and_one_that_has_ended_is_no_error():
    begun, raised = threading.Event(), []

    def spin():
        try:
            begun.set()
            while True:
                time.sleep(0.001)
        except KeyError as error:
            raised.append(error)

    runs, ended = threading.Thread(target=spin, daemon=True), threading.Thread(target=int)
    for thread in (runs, ended):
        thread.start()
    ended.join()
    begun.wait()
    stop([ended, runs, threading.Thread(target=int)], KeyError)
    runs.join(60)
    assert len(raised) == 1 and not runs.is_alive()


@pytest.mark.thorough("course_utils/core/stopping.py")
def test_beside_a_thread_that_waits_for_ever_a_profiler_with_stacks_goes_on():
    ran = subprocess.run(
        [sys.executable, "-c", PROFILED],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=files.ROOT,
    )
    assert ran.stdout.endswith("profiled\n")
