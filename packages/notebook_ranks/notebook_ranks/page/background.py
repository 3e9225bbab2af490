"""A cell that runs on the ranks while the notebook goes on: one at a time, in a thread."""

import concurrent.futures
import contextvars
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future

from notebook_ranks.watch.report import RanksError

END_SECONDS = 20  # until a cell that is to end has ended; it takes two or three
BUSY = (
    "A cell runs on the ranks in the background. ranks.wait() waits for it, ranks.stop() ends it."
)
_begun: list[tuple[Future[None], threading.Thread]] = []  # the cell of now, or the last one


def begin(work: Callable[[], None]) -> None:
    """Starts the work and returns. Raises: RanksError where another cell runs in the background.

    What it prints goes to the cell that began it, and its failure is kept for `wait`.
    """
    refuse()
    context = contextvars.copy_context()  # where ipykernel keeps whose output it is
    future: Future[None] = Future()

    def run() -> None:
        try:
            context.run(work)
            future.set_result(None)
        except BaseException as error:
            context.run(print, error, file=sys.stderr)
            future.set_exception(error)

    thread = threading.Thread(target=run, daemon=True, name="ranks in the background")
    _begun[:] = [(future, thread)]
    thread.start()


def refuse() -> None:
    """Raises: RanksError while a cell runs in the background, unless it is that cell that asks."""
    if _running():
        raise RanksError(BUSY)


def wait(interrupt: Callable[[], None]) -> None:
    """Waits for the cell, and raises what went wrong in it, once; Ctrl-C interrupts the cell."""
    while future := _running():
        try:
            concurrent.futures.wait([future])
        except KeyboardInterrupt:
            interrupt()
    error = _begun[0][0].exception() if _begun else None
    _begun.clear()
    if error:
        raise error


def end(interrupt: Callable[[], None]) -> None:
    """Interrupts the cell until it has ended; its own output says so, and `wait` doesn't again."""
    until = time.monotonic() + END_SECONDS
    while (future := _running()) and time.monotonic() < until:
        interrupt()
        concurrent.futures.wait([future], 0.2)
    if not _running():
        _begun.clear()


def _running() -> Future[None] | None:
    """The future of the cell that runs in the background, seen from any other thread."""
    for future, thread in _begun:
        if not future.done() and threading.current_thread() is not thread:
            return future
    return None
