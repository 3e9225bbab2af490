"""Ranks forked from a helper process that has torch imported already (Linux)."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import IO

from course_utils.ranks.engine import wire
from course_utils.ranks.engine.report import RanksError
from course_utils.ranks.engine.starters import (
    KILL_SECONDS,
    RECORDER,
    end_of,
    kill_group,
    with_project,
)

START_SECONDS = 60


class Forked:
    """Ranks forked from a helper process that has torch imported already."""

    def __init__(self) -> None:
        self.listener = wire.Listener()
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        self._line: wire.Line | None = None
        self.folder: str | None = None
        self.pid = 0
        path = with_project(os.environ.get("PYTHONPATH"))
        own = {"PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1", wire.ADDRESS: self.listener.address}
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "course_utils.ranks.engine.forker"],
            env={**os.environ, **RECORDER, **own},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._errors,
            start_new_session=True,  # Ctrl-C and a kernel's restart must not reach it
        )

    def start(self, n: int | None, environment: dict[str, str]) -> None:
        line = self._ready()
        own = {**environment, **RECORDER}
        own.setdefault("GLOO_SOCKET_IFNAME", "lo")
        own.setdefault("MASTER_ADDR", "127.0.0.1")
        own.setdefault("MASTER_PORT", "29500")
        line.send(
            {"do": "fork", "n": n, "environment": own, "path": sys.path, "folder": os.getcwd()}
        )

    def _ready(self) -> wire.Line:
        """The line to the helper, once it has imported torch."""
        end = time.monotonic() + START_SECONDS
        while self._line is None:
            if self._process.poll() is not None or time.monotonic() > end:
                raise RanksError(f"The ranks' helper didn't start. It said: {self.said()}")
            self._line = self.listener.accept(0.1)
        if self.folder is None:
            hello, _ = self._line.receive()
            self.folder, self.pid = hello["folder"], hello["pid"]
        return self._line

    def said(self) -> str:
        return end_of(self._errors)

    def watched(self) -> list[wire.Line]:
        return [self._line] if self._line else []

    def notices(self) -> list[wire.Message]:
        found = []
        with suppress(EOFError, OSError):
            while self._line and self._line.waiting():
                found.append(self._line.receive()[0])
        return [notice for notice in found if notice["type"] == "died"]

    def alive(self) -> bool:
        return self._process.poll() is None

    def kill(self, pids: Sequence[int]) -> None:
        if not self._line:
            return
        try:
            self._line.send({"do": "kill"})
            end = time.monotonic() + KILL_SECONDS
            while self._line.waiting(max(0, end - time.monotonic())):
                if self._line.receive()[0]["type"] == "killed":
                    return
        except (EOFError, OSError):
            pass
        for pid in pids:  # the helper is gone or stopped, and its ranks may not be
            kill_group(pid)
        self._process.kill()

    def close(self) -> None:
        if self._line:
            self._line.close()  # it kills its ranks and ends
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(KILL_SECONDS if self._line else 0)
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        if self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)
        self.listener.close()
        self._errors.close()
