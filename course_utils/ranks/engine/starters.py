"""What a Crew needs of whoever starts its ranks: `forked`, `launched`."""

import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Protocol

from course_utils.ranks.engine import wire

CONNECT_SECONDS = 120  # how long ranks may take to dial in
KILL_SECONDS = 5
PROJECT = str(Path(__file__).resolve().parents[3])
RECORDER = {"TORCH_FR_BUFFER_SIZE": "256", "TORCH_CPP_LOG_LEVEL": "FATAL"}


class Engine(Protocol):
    """Starts ranks, hears of their deaths, and ends them."""

    listener: wire.Listener  # where its ranks dial in
    folder: str | None  # where the ranks' FileStores are, None where they share no folder

    def start(self, n: int | None, environment: dict[str, str]) -> None:
        """Begins to start the ranks; they dial in."""

    def notices(self) -> list[wire.Message]:
        """What is known since the last call of ranks that died."""

    def watched(self) -> list[wire.Line]:
        """Lines that say something when `notices` has something new."""

    def alive(self) -> bool:
        """Whether ranks can still dial in."""

    def said(self) -> str:
        """The last lines that it wrote, for a message."""

    def kill(self, pids: Sequence[int]) -> None:
        """Ends every rank, and waits until they are gone; `pids` are those on this machine."""

    def close(self) -> None:
        """Ends everything."""


def with_project(path: str | None) -> str:
    """A PYTHONPATH on which this course_utils comes first."""
    return os.pathsep.join(filter(None, [PROJECT, path]))


def kill_group(pid: int) -> None:
    """SIGKILL for a process, and for the group that it leads."""
    if sys.platform == "win32":
        with suppress(OSError):
            os.kill(pid, signal.SIGTERM)
        return
    for kill in (os.kill, os.killpg):
        with suppress(ProcessLookupError, PermissionError):
            kill(pid, signal.SIGKILL)


def end_of(file: IO[bytes], lines: int = 5) -> str:
    """The last lines of a file of messages."""
    file.seek(0)
    return "\n".join(file.read().decode(errors="replace").splitlines()[-lines:])
