"""Processes and what they started: ended with all of it, or with their parent."""

import ctypes
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

PARENT_DEATH_SIGNAL, CHILD_SUBREAPER = 1, 36  # of Linux's prctl


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


def adopt_orphans() -> None:
    """What this process's children leave behind becomes its own child (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(CHILD_SUBREAPER, 1, 0, 0, 0)


def die_with_parent() -> None:
    """The system kills this process when its parent ends (Linux; elsewhere ranks watch)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PARENT_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
