"""A cell that runs on the ranks while the notebook goes on: one at a time, in a thread."""

import contextvars
import sys
import threading
import time
from collections.abc import Callable

from notebook_ranks.watch.report import RanksError

END_SECONDS = 20  # until a cell that is to end has ended; it takes two or three
BUSY = (
    "A cell runs on the ranks in the background. ranks.wait() waits for it, ranks.stop() ends it."
)


class _Task(threading.Thread):
    """Work whose output goes to the cell that began it, and whose failure is kept."""

    def __init__(self, work: Callable[[], None]) -> None:
        super().__init__(daemon=True, name="ranks in the background")
        self.error: BaseException | None = None
        self.done = threading.Event()  # an interrupted `join` takes a thread for dead (Python 3.11)
        self._work = work
        self._context = contextvars.copy_context()  # where ipykernel keeps whose output it is

    def run(self) -> None:
        try:
            self._context.run(self._work)
        except BaseException as error:
            self.error = error
            self._context.run(print, error, file=sys.stderr)
        finally:
            self.done.set()


_tasks: list[_Task] = []  # that of now, or the last one


def begin(work: Callable[[], None]) -> None:
    """Starts the work and returns. Raises: RanksError where another cell runs in the background."""
    refuse()
    _tasks[:] = [_Task(work)]
    _tasks[0].start()


def refuse() -> None:
    """Raises: RanksError while a cell runs in the background, unless it is that cell who asks."""
    if _running() and threading.current_thread() is not _tasks[0]:
        raise RanksError(BUSY)


def wait(interrupt: Callable[[], None]) -> None:
    """Waits for the cell, and raises what went wrong in it, once; Ctrl-C interrupts the cell."""
    while _running():
        try:
            _tasks[0].done.wait(0.2)
        except KeyboardInterrupt:
            interrupt()
    error = _tasks[0].error if _tasks else None
    _tasks.clear()
    if error:
        raise error


def end(interrupt: Callable[[], None]) -> None:
    """Interrupts the cell until it has ended; its own output says so, and `wait` doesn't again."""
    until = time.monotonic() + END_SECONDS
    while _running() and threading.current_thread() is not _tasks[0] and time.monotonic() < until:
        interrupt()
        _tasks[0].done.wait(0.2)
    if not _running():
        _tasks.clear()


def _running() -> bool:
    return bool(_tasks) and not _tasks[0].done.is_set()
