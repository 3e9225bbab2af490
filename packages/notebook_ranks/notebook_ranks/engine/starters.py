"""Starters of a Crew's ranks: a helper that forks them, new Pythons, or the reader's commands."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from notebook_ranks import messages
from notebook_ranks.engine import wire
from notebook_ranks.messages import Died
from notebook_ranks.processes import kill_group
from notebook_ranks.watch.report import RanksError

CONNECT_SECONDS = 120  # how long ranks may take to dial in, once their job has left its queue
IMPORT_SECONDS = 60  # how long the helper may take to import torch
KILL_SECONDS = 5
PROJECT = str(Path(__file__).resolve().parents[2])
RECORDER = {"TORCH_FR_BUFFER_SIZE": "256", "TORCH_CPP_LOG_LEVEL": "FATAL"}
# What torchrun's agent writes: as a worker has ended, in its summary, and otherwise.
DEATH = re.compile(r"\(exitcode: (-?\d+)\) local_rank: \d+ \(pid: (\d+)\)")
CAUSE = re.compile(r"rank +: (\d+) \(local_rank: \d+\)\s+exitcode +: -?\d+ \(pid: (\d+)\)")
AGENT = re.compile(r"[EWI]\d{4} .*torch/distributed/|\*{9}")
QUEUE = re.compile(r"job (\d+) (queued|has been allocated)")  # as srun and salloc write it
PROGRAM = ["-m", "notebook_ranks.engine.rank_program"]


class Starter:
    """Starts ranks, which dial in at `listener`; hears of their deaths, and ends them."""

    def __init__(self, host: str = "127.0.0.1") -> None:
        self.listener = wire.Listener(host)
        self._running: list[subprocess.Popen[bytes]] = []
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        self._begun = 0  # where in it these ranks' words begin, after those of ranks before them

    def start(self, n: int | None, environment: dict[str, str]) -> None:
        """Begins to start the ranks; they dial in."""
        raise NotImplementedError

    def _launch(self, command: list[str], environment: dict[str, str]) -> None:
        path = os.pathsep.join(filter(None, [PROJECT, environment.get("PYTHONPATH")]))
        own = {wire.ADDRESS: self.listener.address, "PYTHONPATH": path}
        self._running.append(
            subprocess.Popen(
                command,
                env={**environment, **RECORDER, **own},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._errors,
                start_new_session=True,  # Ctrl-C and a kernel's restart must not reach it
            )
        )

    def said(self) -> str:
        """The last five lines that the processes wrote, for a message."""
        return "\n".join(self._written().splitlines()[-5:])

    def _written(self) -> str:
        size = os.fstat(self._errors.fileno()).st_size
        found = os.pread(self._errors.fileno(), size - self._begun, self._begun)
        return found.decode(errors="replace")

    def _forget(self) -> None:
        """Leaves out of `said` and `notices` what was written until now."""
        self._begun = os.fstat(self._errors.fileno()).st_size

    def watched(self) -> list[wire.Line]:
        """Lines that say something when `notices` has something new."""
        return []

    def notices(self) -> list[Died]:
        """Reports of ranks that died."""
        return []

    def pending(self) -> bool:
        """Whether a scheduler keeps the ranks' job in its queue."""
        return False

    def alive(self) -> bool:
        """Whether ranks can still dial in."""
        return any(process.poll() is None for process in self._running)

    def kill(self, pids: Sequence[int]) -> None:
        """Ends every rank, and waits until they are gone; `pids` are those on this machine."""
        for process in self._running:
            process.terminate()  # torchrun ends its own workers
        self._wait()
        for pid in [*pids, *(process.pid for process in self._running)]:
            kill_group(pid)
        for process in self._running:
            process.wait()
        self._running.clear()

    def _wait(self) -> None:
        """Gives the processes a while to end."""
        end = time.monotonic() + KILL_SECONDS
        for process in self._running:
            with suppress(subprocess.TimeoutExpired):
                process.wait(max(0, end - time.monotonic()))

    def close(self) -> None:
        """Ends everything."""
        self.kill([])
        self.listener.close()
        self._errors.close()


class Forked(Starter):
    """Ranks forked from a helper process that has torch imported already (Linux)."""

    def __init__(self) -> None:
        super().__init__()
        self._line: wire.Line | None = None
        helper = [sys.executable, "-P", "-m", "notebook_ranks.engine.forker"]
        self._launch(helper, {**os.environ, "OPENBLAS_NUM_THREADS": "1"})

    def start(self, n: int | None, environment: dict[str, str]) -> None:
        line = self._ready()
        usual = {
            "GLOO_SOCKET_IFNAME": "lo", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500",
        }  # fmt: skip
        own = {**usual, **environment, **RECORDER}
        line.send(messages.Fork(n or 1, own, sys.path, os.getcwd()))

    def _ready(self) -> wire.Line:
        """The line to the helper, once it has imported torch."""
        end = time.monotonic() + IMPORT_SECONDS
        while self._line is None:
            if not self.alive() or time.monotonic() > end:
                raise RanksError(f"The ranks' helper didn't start. It said: {self.said()}")
            if found := self.listener.accept(0.1):
                self._line, _ = found
        return self._line

    def watched(self) -> list[wire.Line]:
        return [self._line] if self._line else []

    def notices(self) -> list[Died]:
        found = []
        with suppress(EOFError, OSError):
            while self._line and self._line.waiting():
                found.append(self._line.receive()[0])
        return [notice for notice in found if isinstance(notice, Died)]

    def kill(self, pids: Sequence[int]) -> None:
        if self._line and self._helper_kills(self._line):
            return
        super().kill(pids)  # the helper is gone or stopped, and its ranks may not be

    def _helper_kills(self, line: wire.Line) -> bool:
        with suppress(EOFError, OSError):
            line.send(messages.Kill())
            end = time.monotonic() + KILL_SECONDS
            while line.waiting(max(0, end - time.monotonic())):
                if isinstance(line.receive()[0], messages.Killed):
                    return True
        return False

    def close(self) -> None:
        if self._line:
            self._line.close()  # the helper kills its ranks and ends
            self._line = None
            self._wait()
        super().close()


class Spawned(Starter):
    """A new Python for each rank: slower, for systems where a process can't be forked safely."""

    def start(self, n: int | None, environment: dict[str, str]) -> None:
        self._forget()
        for rank in range(n or 1):
            ids = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": n, "LOCAL_WORLD_SIZE": n}
            own = {name: str(value) for name, value in ids.items()}
            self._launch([sys.executable, *PROGRAM], {**environment, **own})

    def notices(self) -> list[Died]:
        ended = [(rank, p.pid, p.poll()) for rank, p in enumerate(self._running)]
        return [
            Died(pid, code, self.said(), rank=rank) for rank, pid, code in ended if code is not None
        ]


class Launched(Starter):
    """Ranks that the reader's own commands start: torchrun, srun, mpirun, or plain Python."""

    def __init__(self, commands: Sequence[str], host: str) -> None:
        super().__init__(host)
        self._commands = [shlex.split(command) for command in commands]

    def start(self, n: int | None, environment: dict[str, str]) -> None:
        self._forget()
        # A kernel's PATH may lack the folder of its own Python, where torchrun is.
        path = os.pathsep.join([environment.get("PATH", ""), os.path.dirname(sys.executable)])
        for command in self._commands:
            program = shutil.which(command[0], path=path)
            if program is None:
                raise RanksError(
                    f"There is no program {command[0]!r} on this machine's PATH, nor beside "
                    f"{sys.executable}. Give ranks.connect its full path, or install it."
                )
            self._launch([program, *command[1:], *program_of(command)], environment)

    def notices(self) -> list[Died]:
        """Torchrun's reports of a worker's end: its pid at once, its rank when torchrun ends."""
        written = self._written()
        ranks = {int(pid): int(rank) for rank, pid in CAUSE.findall(written)}
        return [
            Died(int(pid), int(code), self.said(), rank=ranks.get(int(pid)))
            for code, pid in DEATH.findall(written)
        ]

    def pending(self) -> bool:
        return "queued" in dict(QUEUE.findall(self._written())).values()

    def alive(self) -> bool:
        """Whether all commands run: a node whose command has ended has no ranks."""
        return all(process.poll() is None for process in self._running)

    def said(self) -> str:
        """The first and the last lines of the workers, or of a starter that ran none."""
        lines = DEATH.split(self._written())[0].splitlines()
        told = [line for line in lines if line.strip("- ") and not AGENT.match(line)]
        return "\n".join(told if len(told) <= 10 else [*told[:5], "…", *told[-5:]])


def program_of(command: Sequence[str]) -> list[str]:
    """The rank's program, as this starter wants it behind its own options."""
    names = {Path(word).name for word in command}
    if names & {"torchrun", "torch.distributed.run"}:
        return PROGRAM
    passed_on = [wire.ADDRESS, "PYTHONPATH"]
    passed_on += [wire.PREPARE] if wire.PREPARE in os.environ else []
    exported = [word for name in passed_on for word in ("-x", name)]
    return [*(exported if names & {"mpirun", "mpiexec"} else []), sys.executable, *PROGRAM]
