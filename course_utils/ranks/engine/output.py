"""What a rank prints: sent to the notebook as it comes, up to a limit for each cell."""

import fcntl
import io
import os
import re
import sys
import termios
import threading
import time
from collections.abc import Callable

LIMIT_CHARS = 100_000
LUMP_BYTES = 8_000  # a pipe with more than this is read before the cell ends
PAUSE_SECONDS = 0.05  # between two messages of one stream; who prints for ever prints in lumps
NOISE = re.compile(r"\[Gloo\] Rank |\[/.*debug_logger\.cc:")  # gloo's words at every start
Send = Callable[[str, str], None]


class Budget:
    """What a rank may still print in this cell; shared by its streams."""

    def __init__(self) -> None:
        self.left = LIMIT_CHARS
        self._lock = threading.Lock()

    def take(self, text: str) -> str:
        """As much of the text as may still be printed, with a sentence where it is cut."""
        with self._lock:
            if self.left <= 0:
                return ""
            if len(text) <= self.left:
                self.left -= len(text)
                return text
            kept, self.left = text[: self.left], 0
            return (
                f"{kept}\n… more than {LIMIT_CHARS:,} characters in one cell: the rest is dropped\n"
            )


class Stream(io.TextIOBase):
    """A rank's sys.stdout or sys.stderr."""

    def __init__(self, name: str, descriptor: int, send: Send, budget: Budget) -> None:
        self._name, self._descriptor = name, descriptor
        self._send, self._budget = send, budget
        self._owner = os.getpid()
        self._kept: list[str] = []
        self._sent = 0.0

    encoding = "utf-8"

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._descriptor

    def write(self, text: str) -> int:
        allowed = self._budget.take(text)
        if allowed:
            self._kept.append(allowed)
            if time.monotonic() - self._sent > PAUSE_SECONDS and "\n" in allowed:
                self.flush()
        return len(text)

    def flush(self) -> None:
        if not self._kept:
            return
        text, self._kept = "".join(self._kept), []
        self._sent = time.monotonic()
        if os.getpid() == self._owner:
            self._send(self._name, text)
        else:  # a child of the rank: its words come through the pipe
            os.write(self._descriptor, text.encode(errors="replace"))


class Pipe:
    """What anything but Python's streams writes: C++ code, and programs that the rank starts.

    It stays in the pipe until it is asked for, so that the last words of a process that dies are
    still there for its parent.
    """

    def __init__(self, reading: int, writing: int, send: Send, budget: Budget) -> None:
        os.dup2(writing, 1)
        os.dup2(writing, 2)
        self._reading, self._send, self._budget = reading, send, budget
        self._lock = threading.Lock()

    def drain(self, at_least: int = 1) -> None:
        """Sends what is in the pipe, where that is at least so many bytes."""
        with self._lock:
            found = b""
            while (waiting := self._waiting()) >= at_least:
                found, at_least = found + os.read(self._reading, waiting), 1
                if len(found) > LIMIT_CHARS:
                    break
        text = found.decode(errors="replace")
        lines = [line for line in text.splitlines(keepends=True) if not NOISE.match(line)]
        allowed = self._budget.take("".join(lines))
        if allowed:
            self._send("pipe", allowed)

    def _waiting(self) -> int:
        count = bytearray(4)
        fcntl.ioctl(self._reading, termios.FIONREAD, count)
        return int.from_bytes(count, sys.byteorder)


def capture(reading: int, writing: int, send: Send) -> tuple[Budget, Pipe]:
    """Sends all that this process prints through `send(stream name, text)` from now on."""
    budget = Budget()
    pipe = Pipe(reading, writing, send, budget)
    sys.stdout = Stream("stdout", 1, send, budget)
    sys.stderr = Stream("stderr", 2, send, budget)
    return budget, pipe
