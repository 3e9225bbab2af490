"""Stops threads that a reader's answer left running, so that they don't disturb later cells."""

import ctypes
import threading
import time
from collections.abc import Iterable
from contextlib import suppress

HEARD_SECONDS = 1.0


def stop(threads: Iterable[threading.Thread], error: type[BaseException] = SystemExit) -> None:
    """Raises `error` in each thread that runs Python code; a thread that blocks in C isn't stopped.

    Until one thread has received its error, Python 3.11 keeps a global flag set, and a profiler
    with stacks sees no lines in any thread. The first thread that receives an error clears the
    flag (CPython, Python/ceval_gil.c), so an extra thread that receives one at once comes last.
    """
    told = [thread for thread in threads if thread.is_alive()]
    if not told:
        return
    for thread in told:
        _raise_in(thread, error)
    last = threading.Thread(target=_rest, daemon=True)
    last.start()
    _raise_in(last, SystemExit)
    last.join(HEARD_SECONDS)


def _raise_in(thread: threading.Thread, error: type[BaseException]) -> None:
    ident = ctypes.c_ulong(thread.ident or 0)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, ctypes.py_object(error))


def _rest() -> None:
    with suppress(SystemExit):
        while True:
            time.sleep(0.001)
