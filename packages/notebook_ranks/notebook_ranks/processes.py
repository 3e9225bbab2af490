"""Processes and what they started: ended with all of it, or with their parent."""

import ctypes
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100  # of /proc, in a second
PARENT_DEATH_SIGNAL, CHILD_SUBREAPER = 1, 36  # of Linux's prctl
local_ranks: set[int] = set()  # the pids of this notebook's ranks, for counting their time


def kill_group(pid: int) -> None:
    """SIGKILL for a process, and for the group that it leads."""
    for kill in (os.kill, os.killpg):
        with suppress(ProcessLookupError, PermissionError):
            kill(pid, signal.SIGKILL)


def children(pid: int | None = None) -> list[int]:
    """The pids of a process's children (this one's), dead ones too; none where it isn't Linux."""
    found: list[int] = []
    with suppress(OSError):
        for thread in Path(f"/proc/{pid or os.getpid()}/task").iterdir():
            found += [int(child) for child in (thread / "children").read_text().split()]
    return found


def seconds_of_children() -> float:
    """Processor seconds that this process's children have used, and theirs; 0 but on Linux."""
    ticks, left = 0, children()
    while left:
        pid = left.pop()
        left += children(pid)
        with suppress(OSError, ValueError):
            fields = _stat(pid)
            ticks += int(fields[11]) + int(fields[12])
    return ticks / TICKS


def is_stopped(pid: int) -> bool:
    """Whether a process was stopped by a signal (Linux)."""
    try:
        return _stat(pid)[0] in "Tt"
    except OSError:
        return False


def _stat(pid: int) -> list[str]:
    """The fields of /proc/…/stat behind the program's name; the first is the process's state."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def adopt_orphans() -> None:
    """Makes orphans of this process's children its own children (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(CHILD_SUBREAPER, 1, 0, 0, 0)


def die_with_parent() -> None:
    """The system kills this process when its parent ends (Linux; elsewhere ranks watch)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PARENT_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
