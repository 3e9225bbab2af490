"""Ranks that commands start: torchrun, srun, mpirun; or one new Python for each."""

import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from course_utils.ranks.engine import wire
from course_utils.ranks.engine.starters import (
    KILL_SECONDS,
    RECORDER,
    end_of,
    kill_group,
    with_project,
)

PROGRAM = ["-m", "course_utils.ranks.engine.rank_program"]


class Launched:
    """Ranks that someone else's commands start: torchrun, srun, mpirun, or plain Python."""

    folder: str | None = None

    def __init__(self, commands: Sequence[str], host: str) -> None:
        self.listener, self._commands = wire.Listener(host), [shlex.split(c) for c in commands]
        self._running: list[subprocess.Popen[bytes]] = []
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115

    def start(self, n: int | None, environment: dict[str, str]) -> None:
        for command in self._commands:
            self._launch([*command, *program_of(command)], environment)

    def _launch(self, command: list[str], environment: dict[str, str]) -> None:
        own = {wire.ADDRESS: self.listener.address, wire.STORE: "server"}
        own["PYTHONPATH"] = with_project(environment.get("PYTHONPATH"))
        self._running.append(
            subprocess.Popen(
                command,
                env={**environment, **RECORDER, **own},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._errors,
                start_new_session=True,
            )
        )

    def said(self) -> str:
        return end_of(self._errors)

    def watched(self) -> list[wire.Line]:
        return []

    def notices(self) -> list[wire.Message]:
        return []

    def alive(self) -> bool:
        return any(process.poll() is None for process in self._running)

    def kill(self, pids: Sequence[int]) -> None:
        for process in self._running:
            process.terminate()  # torchrun ends its own workers
        end = time.monotonic() + KILL_SECONDS
        for process in self._running:
            with suppress(subprocess.TimeoutExpired):
                process.wait(max(0, end - time.monotonic()))
        for pid in [*pids, *(process.pid for process in self._running)]:
            kill_group(pid)
        for process in self._running:
            process.wait()
        self._running.clear()

    def close(self) -> None:
        self.kill([])
        self.listener.close()
        self._errors.close()


class Spawned(Launched):
    """A new Python for each rank: slower, for systems where a process can't be forked safely."""

    def __init__(self) -> None:
        super().__init__([], "127.0.0.1")

    def start(self, n: int | None, environment: dict[str, str]) -> None:
        for rank in range(n or 1):
            ids = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": n, "LOCAL_WORLD_SIZE": n}
            own = {name: str(value) for name, value in ids.items()}
            self._launch([sys.executable, *PROGRAM], {**environment, **own})


def program_of(command: Sequence[str]) -> list[str]:
    """What stands behind a starter's own options: the rank's program as this starter wants it."""
    names = [Path(word).name for word in command]
    if {"torchrun", "torch.distributed.run"} & set(names):
        return PROGRAM
    exported = ["-x", wire.ADDRESS, "-x", wire.STORE, "-x", "PYTHONPATH"]
    passed_on = exported if {"mpirun", "mpiexec"} & set(names) else []
    return [*passed_on, sys.executable, *PROGRAM]
