"""A cell of the notebook as a program, started by torchrun while other cells run."""

import atexit
import linecache
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any

from course_utils.chapters.beyond_one_machine import torchrun
from course_utils.core import files

TORCHRUN = (sys.executable, "-m", torchrun.__name__)
LIMIT_SECONDS = 120.0
AGENTS_REPORT = re.compile(r"failed \(exitcode: (-?\d+)\) local_rank: (\d+)")


class LaunchError(Exception):
    """A program that failed, or that took too long; with the last lines that it said."""


def write_program(path: str | Path, *functions: Callable[..., Any]) -> None:
    """Writes the cells that define `functions`, in that order and each once."""
    cells = dict.fromkeys(one.__code__.co_filename for one in functions)
    texts = ["".join(linecache.getlines(name)).strip("\n") for name in cells]
    Path(path).write_text("\n\n\n".join(texts) + "\n", encoding="utf-8")


class Launched:
    """A command that runs in a folder; what it prints is kept there, each rank's in its own file:
    torchrun's ranks write a line and its end apart, and a file of all would mix them.
    """

    def __init__(
        self, command: str, folder: str | Path | TemporaryDirectory[str], **environment: str
    ) -> None:
        """Starts `command`, whose first word is torchrun, with the course on Python's path.

        It sees no GPU rank's variables of this process. It ends with this Python at the latest,
        however that ends, and then takes a temporary folder with it.
        """
        if isinstance(folder, TemporaryDirectory):
            environment |= {torchrun.SCRATCH: folder.name}
            folder = folder.name
        self.folder = Path(folder)
        first, *words = shlex.split(command)
        if first != "torchrun":
            raise ValueError(f"a command that begins with torchrun, not {first}")
        own = {k: v for k, v in os.environ.items() if k not in ("RANK", "WORLD_SIZE")}
        own |= {"PYTHONPATH": files.python_path(), "OMP_NUM_THREADS": "1", **environment}
        self._logs = Path(mkdtemp(prefix=".ranks-", dir=self.folder))
        with self._file("err").open("w") as err:
            self._process = subprocess.Popen(
                [*TORCHRUN, "--redirects", "1", "--log-dir", str(self._logs), *words],
                cwd=self.folder,
                env=own,
                stdin=subprocess.PIPE,  # it closes with this Python: torchrun's sign to end
                stdout=subprocess.DEVNULL,
                stderr=err,
            )
        atexit.register(self.stop)

    def lines(self) -> list[str]:
        """The lines that its ranks printed, sorted: their order is chance."""
        printed = [path.read_text(encoding="utf-8") for path in self._logs.rglob("stdout.log")]
        return sorted(line for text in printed for line in text.splitlines())

    def wait(self, limit_seconds: float = LIMIT_SECONDS) -> None:
        """Returns when it has ended well. Raises: LaunchError."""
        try:
            status: int | None = self._process.wait(limit_seconds)
        except subprocess.TimeoutExpired:
            status = None
            self.stop()
        if status != 0:
            how = f"took over {limit_seconds:.0f} s" if status is None else f"failed ({status})"
            raise LaunchError("\n".join([f"torchrun {how}. Its ranks said last:", *self._said()]))

    def _said(self, most: int = 12) -> list[str]:
        """The last lines of errors before the agent's own report, and what that says of the end."""
        lines = self._file("err").read_text(encoding="utf-8").strip().splitlines()
        reports = [
            (at, found) for at, line in enumerate(lines) if (found := AGENTS_REPORT.search(line))
        ]
        if not reports:
            return lines[-most:]
        at, found = reports[-1]
        status, rank = found.groups()
        return [*lines[:at][-most:], f"local rank {rank} ended with exit status {status}"]

    def stop(self) -> None:
        """Ends it: torchrun ends its ranks before it goes."""
        atexit.unregister(self.stop)
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(40)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    def _file(self, name: str) -> Path:
        return self.folder / f"torchrun.{name}"
