"""Sends what a rank prints to the notebook as it comes, up to a limit for each cell."""

import codecs
import fcntl
import io
import os
import re
import select
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from notebook_ranks.cells import shell

LIMIT_CHARS = 100_000
PIPE_BYTES = 2**20  # what the pipe holds, where the system lets it (Linux)
SETTLE_SECONDS = 0.02  # so long words stay in the pipe
PAUSE_SECONDS = 0.05  # between two messages of one stream; endless output is sent in lumps
NOISE = re.compile(r"\[Gloo\] Rank |\[/.*debug_logger\.cc:")  # gloo's words at every start
# What a process says as it crashes, where the message of the cell says it better.
CRASH = re.compile(r"(Fatal Python error: |terminate called after .*'gloo::).*", re.S)
BURST = 5  # lines that are sent at once, and not with those of the next PAUSE_SECONDS
Send = Callable[[str, str], None]


class Budget:
    """Characters that a rank may still print in this cell; shared by its streams."""

    def __init__(self) -> None:
        self.left = LIMIT_CHARS
        self._lock = threading.Lock()
        os.register_at_fork(after_in_child=self._unlock)

    def take(self, text: str) -> str:
        """As much of the text as may still be printed, with a sentence where it is cut."""
        with self._lock:  # the cell's threads and the pipe's print at the same time
            kept, before = text[: self.left], self.left
            self.left -= len(kept)
        if len(kept) == len(text) or before == 0:
            return kept
        return f"{kept}\n… more than {LIMIT_CHARS:,} characters in one cell: the rest is dropped\n"

    def _unlock(self) -> None:
        """In a forked child, whose parent's other thread may have held the lock."""
        self._lock = threading.Lock()


class Stream(io.TextIOBase):
    """A rank's sys.stdout or sys.stderr."""

    def __init__(self, name: str, descriptor: int, send: Send, budget: Budget) -> None:
        self._name, self._descriptor = name, descriptor
        self._send, self._budget = send, budget
        self._owner = os.getpid()
        self._kept: deque[str] = deque()
        self._sent = 0.0
        self.at_once = BURST

    encoding = "utf-8"

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._descriptor

    def write(self, text: str) -> int:
        allowed = self._budget.take(text)
        if allowed:
            self._kept.append(allowed)
            if "\n" in allowed and self._is_due():
                self.flush()
        return len(text)

    def _is_due(self) -> bool:
        """Whether a line is sent now: a few always are, so a crash does not lose them."""
        self.at_once -= 1
        return self.at_once >= 0 or time.monotonic() - self._sent > PAUSE_SECONDS

    def flush(self) -> None:
        pieces = []
        with suppress(IndexError):  # emptied one by one: another thread may write meanwhile
            while True:
                pieces.append(self._kept.popleft())
        if not pieces:
            return
        text, self._sent = "".join(pieces), time.monotonic()
        if os.getpid() == self._owner:
            self._send(self._name, text)
        else:  # a child of the rank: its words come through the pipe
            os.write(self._descriptor, text.encode(errors="replace"))


class Pipe:
    """Reads what Python's streams don't: output of C++ code, and of programs that a rank starts.

    A thread reads it, a moment after it comes: the last words of a process that dies are still
    there for its parent. What comes once the budget is spent is thrown away.
    """

    def __init__(self, reading: int, writing: int, send: Send, budget: Budget) -> None:
        self._reading, self._writing = reading, writing
        self._send, self._budget = send, budget
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._lock = threading.Lock()
        os.set_blocking(reading, False)
        with suppress(AttributeError, OSError):
            fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        self.attach()
        threading.Thread(target=self._follow, daemon=True, name="output").start()

    def attach(self) -> None:
        """Makes descriptors 1 and 2 lead here, whatever a cell has made of them."""
        os.dup2(self._writing, 1)
        os.dup2(self._writing, 2)

    def drain(self) -> None:
        """Sends what is in the pipe, or as much of it as may be printed."""
        with self._lock, suppress(BlockingIOError):
            found = os.read(self._reading, PIPE_BYTES)
            if self._budget.left > 0:
                allowed = self._budget.take(without_noise(self._decoder.decode(found)))
                if allowed:
                    self._send("pipe", allowed)

    def _follow(self) -> None:
        something = select.poll()
        something.register(self._reading, select.POLLIN)
        with suppress(OSError):  # the notebook is gone, and so is this rank
            while True:
                something.poll()
                time.sleep(SETTLE_SECONDS)
                self.drain()


def without_noise(text: str) -> str:
    """The output of programs, without the lines that gloo prints at every start."""
    return "".join(line for line in text.splitlines(keepends=True) if not NOISE.match(line))


def before_the_crash(text: str) -> str:
    """The output of programs until their process crashed."""
    return CRASH.sub("", without_noise(text))


class Output:
    """Sends all that this process prints and displays through `send(stream name, text)`."""

    def __init__(self, reading: int, writing: int, send: Send) -> None:
        self._budget = Budget()
        self._pipe = Pipe(reading, writing, send, self._budget)
        self._own = tuple(
            Stream(name, number, send, self._budget)
            for number, name in enumerate(("stdout", "stderr"), start=1)
        )
        self._old = sys.__stdout__, sys.__stderr__  # which somebody may still hold
        sys.__stdout__, sys.__stderr__ = self._own  # type: ignore[misc, assignment]
        self._put_back()
        shell.use(send)

    def begin(self) -> None:
        """Before a cell: it may print as much as any, and prints here."""
        self._budget.left = LIMIT_CHARS
        for stream in self._own:
            stream.at_once = BURST
        shell.begin()
        self._pipe.attach()

    def flush(self) -> None:
        """Sends what the streams keep."""
        for stream in self._own:
            stream.flush()

    def end(self) -> None:
        """After a cell: all that it printed is sent, whatever it made of sys.stdout."""
        shell.end()
        for stream in (sys.stdout, sys.stderr, *self._old):
            with suppress(Exception):  # a class of the reader's
                stream.flush()  # type: ignore[union-attr]
        self._put_back()
        self.flush()
        self._pipe.drain()

    def _put_back(self) -> None:
        sys.stdout, sys.stderr = self._own
