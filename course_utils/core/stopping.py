"""Ending threads that an answer left behind, so that what runs later isn't disturbed."""

import ctypes
import threading
import time
from collections.abc import Iterable
from contextlib import suppress

HEARD_SECONDS = 1.0


def stop(threads: Iterable[threading.Thread], error: type[BaseException] = SystemExit) -> None:
    """Raises `error` in each of these threads that runs Python; one that waits stays, as it is.

    Until a thread has heard of its error, Python 3.11 keeps a flag up, and while it is up, a
    profiler with stacks goes on at no line, in any thread. The first that hears takes it down
    (CPython, Python/ceval_gil.c): so a thread that hears at once is told last.
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
