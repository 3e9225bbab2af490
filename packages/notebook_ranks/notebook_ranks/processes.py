"""Processes and what they started: ended with all of it, or with their parent."""

import ctypes
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100  # of /proc, in a second
PARENT_DEATH_SIGNAL, CHILD_SUBREAPER = 1, 36  # of Linux's prctl
local_ranks: set[int] = set()  # the pids of this notebook's ranks, for who counts their time


def kill_group(pid: int) -> None:
    """SIGKILL for a process, and for the group that it leads."""
    for kill in (os.kill, os.killpg):
        with suppress(ProcessLookupError, PermissionError):
            kill(pid, signal.SIGKILL)


def children() -> list[int]:
    """The pids of this process's children, dead ones too; none where this isn't Linux."""
    me = os.getpid()
    try:
        found = Path(f"/proc/{me}/task/{me}/children").read_text()
    except OSError:
        return []
    return [int(pid) for pid in found.split()]


def seconds_of_children() -> float:
    """Processor seconds that this process's children have used, and theirs; 0 but on Linux."""
    ticks, found = 0, _children_of(os.getpid())
    while found:
        pid = found.pop()
        found += _children_of(pid)
        with suppress(OSError, ValueError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
    return ticks / TICKS


def _children_of(pid: int) -> list[int]:
    """The children of all threads of a process."""
    found: list[int] = []
    with suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            told = Path(f"/proc/{pid}/task/{thread}/children").read_text()
            found += [int(child) for child in told.split()]
    return found


def adopt_orphans() -> None:
    """What this process's children leave behind becomes its own child (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(CHILD_SUBREAPER, 1, 0, 0, 0)


def die_with_parent() -> None:
    """The system kills this process when its parent ends (Linux; elsewhere ranks watch)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PARENT_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
