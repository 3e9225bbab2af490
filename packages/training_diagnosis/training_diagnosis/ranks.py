"""Runs the passes of a script on all ranks that torchrun started: rank 0 leads, the others follow.

The ranks' commands share a folder. Rank 0 writes there which pass comes next; each rank then runs
the script, watched, in a process of its own, and writes what it saw. Each pass makes a new process
group, so it has a new store: in the script's process on rank 0, at a port that rank 0 looked up.
"""

import contextlib
import os
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import psutil

from training_diagnosis.passes import GRACE, Script, ScriptError
from training_diagnosis.records import Rank, Seen
from training_diagnosis.steps import find

POLL = 0.02  # seconds between two looks into the folder


def under_torchrun() -> bool:
    """Whether torchrun started this process as one of several ranks."""
    return "TORCHELASTIC_RUN_ID" in os.environ and int(os.environ.get("WORLD_SIZE", "1")) > 1


class Ranks:
    """A script on all ranks, for `diagnose` on rank 0; the others `follow`.

    Raises: RuntimeError where the ranks are on several machines.
    """

    def __init__(self, script: Script) -> None:
        self.path, self.arguments, self.script, self.passes = (
            script.path,
            script.arguments,
            script,
            0,
        )
        self.rank, self.count = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        if self.count != int(os.environ["LOCAL_WORLD_SIZE"]):
            raise ScriptError(
                "diagnose reads the ranks of one machine: start it with --nnodes 1", 1
            )
        self.agent = psutil.Process(os.getppid())
        name = f"diagnose-{os.getuid()}-{self.agent.pid}-{self.agent.create_time():.0f}"
        self.folder = Path(tempfile.gettempdir(), name)
        self.folder.mkdir(mode=0o700, exist_ok=True)
        if self.folder.stat().st_uid != os.getuid():
            raise RuntimeError(f"{self.folder} isn't yours: set TMPDIR to a folder of yours")
        signal.signal(signal.SIGTERM, self._stopped)

    def run(self, change: str = "", look: bool = False) -> Seen:
        """One pass on all ranks: what rank 0 saw, with what each rank says of its steps.

        Raises: ScriptError with the message of the rank that failed first.
        """
        with socket.socket() as free:
            free.bind((os.environ["MASTER_ADDR"], 0))
            port = free.getsockname()[1]
        _write(self.folder / f"{self.passes}.order", (change, look, port))
        seen = self._pass(change, look, port)
        files = [self.folder / f"{self.passes}.{rank}" for rank in range(self.count)]
        self._wait_for(lambda: all(file.exists() for file in files), 4 * GRACE)
        said = [msgspec.json.decode(f.read_bytes(), type=Rank) for f in files if f.exists()]
        self.passes += 1
        if failed := [one for one in said if one.error]:
            first = min(failed, key=lambda one: one.at)
            raise ScriptError(f"{first.error}\nRank {first.rank} failed first.", first.status or 1)
        if len(said) < self.count or seen is None:
            raise ScriptError("A rank did not answer in time.", 1)
        seen.ranks = said
        return seen

    def follow(self) -> None:
        """Runs the passes that rank 0 wants, until it wants no more."""
        while order := self._next():
            self._pass(*msgspec.json.decode(order, type=tuple[str, bool, int]))
            self.passes += 1

    def _next(self) -> bytes:
        order = self.folder / f"{self.passes}.order"
        self._wait_for(lambda: order.exists() or not self.folder.exists())
        return order.read_bytes() if order.exists() else b""

    def end(self) -> None:
        """Lets the other ranks go, which end when the folder is gone."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _pass(self, change: str, look: bool, port: int) -> Seen | None:
        together, one = self.folder / str(self.passes), Rank(self.rank)
        store = {"MASTER_PORT": str(port), "TORCHELASTIC_USE_AGENT_STORE": "False"}
        script = replace(self.script, environment={**self.script.environment, **store})
        seen = None
        try:
            seen = script.run(change, look, str(together), self._late)
            one.error, one.status = seen.error, seen.exit_code
            if seen.ended == "no time":
                one.error = f"It made no further step, and was at {seen.facts['stopped_at']}."
            if steps := find(seen):
                one.seconds = steps.typical()
                one.parts = {name: steps.part(name) for name in steps.steps[0].parts}
                exposed = float(seen.facts["exposed"]) * steps.synchronised(seen)
                if closer := seen.look:
                    regions = {sample.region for sample in closer.samples}
                    one.lines = {name: closer.line(name)[0] for name in regions}
                one.communicating = one.parts["communicating"] + exposed
        except ScriptError as error:
            one.error, one.status = str(error), error.status
        one.at = time.time()
        _write(self.folder / f"{self.passes}.{self.rank}", one)
        return seen

    def _late(self) -> bool:
        """Whether another rank ended some time ago: this one may wait for it in a collective."""
        self._alive()
        ended = [
            file.stat().st_mtime for file in self.folder.glob(f"{self.passes}.*")
            if file.suffix[1:].isdigit()
        ]  # fmt: skip
        return bool(ended) and time.time() - min(ended) > GRACE

    def _wait_for(self, ready: Callable[[], bool], seconds: float = float("inf")) -> None:
        until = time.monotonic() + seconds
        while not ready() and time.monotonic() < until:
            self._alive()
            time.sleep(POLL)

    def _alive(self) -> None:
        if os.getppid() != self.agent.pid:
            self._stopped()

    def _stopped(self, *_: Any) -> None:
        """Ends this command, and so its script: torchrun was stopped, or another rank died."""
        self.end()
        if self.rank == 0:
            print("Stopped: torchrun ended, or the process of a rank died.", file=sys.stderr)
        sys.exit(143)


def _write(file: Path, content: Any) -> None:
    part = Path(f"{file}.part")
    with contextlib.suppress(FileNotFoundError):  # rank 0 has ended
        part.write_bytes(msgspec.json.encode(content))
        part.replace(file)
