"""A real kernel that runs cells, and what is left of it in the list of processes."""

import os
import signal
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jupyter_client.manager import start_new_kernel

PACKAGE = Path(__file__).resolve().parents[2]  # where notebook_ranks can be imported from
CELL_SECONDS = 240  # the test machine may be busy; no test waits so long for a right answer
MARK = "COURSE_TEST_KERNEL"
# A busy machine may be late to stop a rank, or to report how it died, and no words come in between.
PATIENT = """
from notebook_ranks.engine import crew
crew.STOP_SECONDS = crew.NOTICE_SECONDS = 30
crew.TELL_SECONDS = float("inf")
"""


@dataclass
class Result:
    """What a cell printed and showed, how it failed, and how long it took."""

    text: str
    error: str
    seconds: float


class Kernel:
    """A Jupyter kernel with `%load_ext notebook_ranks` done."""

    def __init__(self) -> None:
        self.mark = uuid.uuid4().hex
        paths = [str(PACKAGE), os.environ.get("PYTHONPATH", "")]
        own = {MARK: self.mark, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
        self.manager, self.client = start_new_kernel(env={**os.environ, **own})
        self.run("%load_ext notebook_ranks\nimport notebook_ranks as ranks" + PATIENT)

    @property
    def pid(self) -> int:
        return self.manager.provisioner.pid

    def run(self, code: str, interrupt_when: str = "") -> Result:
        """Runs a cell; presses Ctrl-C once the cell has printed `interrupt_when`."""
        start = time.monotonic()
        text, error = "", ""
        for kind, content in self.heard(code):
            if kind == "stream":
                text += content["text"]
            elif kind in ("execute_result", "display_data"):
                text += content["data"]["text/plain"]
            elif kind == "clear_output":  # the live area of a cell that took over a second goes
                text = ""
            elif kind == "error":
                error = f"{content['ename']}: {content['evalue']}"
            if interrupt_when and interrupt_when in text:
                interrupt_when = ""
                threading.Timer(0.3, self.interrupt).start()
        return Result(text, error, time.monotonic() - start)

    def heard(self, code: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Runs a cell; the type and the content of each message of its output, as it comes."""
        message = self.client.execute(code)
        while True:
            found = self.client.get_iopub_msg(timeout=CELL_SECONDS)
            if found["parent_header"].get("msg_id") == message:
                if found["content"].get("execution_state") == "idle":
                    return
                yield found["msg_type"], found["content"]

    def cell(self, code: str, options: str = "", interrupt_when: str = "") -> Result:
        """Runs a `%%ranks` cell."""
        return self.run(f"%%ranks {options}\n{code}", interrupt_when)

    def works(self, n: int = 4) -> bool:
        """Whether `n` ranks add up, and nothing but the helper and its ranks is there."""
        found = self.cell("x = torch.ones(2) * rank\ndist.all_reduce(x)\nx", str(n))
        total = sum(range(n))
        wanted = "".join(f"[rank {r}] tensor([{total}., {total}.])\n" for r in range(n))
        self.seconds_until_gone(but=n + 2)
        return (found.text, found.error, len(self.processes())) == (wanted, "", n + 2)

    def interrupt(self) -> None:
        """What Jupyter's stop button does."""
        os.killpg(self.pid, signal.SIGINT)

    def processes(self) -> set[int]:
        """The pids of everything that came from this kernel, itself included."""
        found = set()
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                environment = (folder / "environ").read_bytes()
                state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            if f"{MARK}={self.mark}".encode() in environment and state != "Z":
                found.add(int(folder.name))
        return found

    def seconds_until_gone(self, but: int = 0) -> float:
        """How long it takes until nothing of this kernel is left, but so many processes."""
        start = time.monotonic()
        while len(self.processes()) > but and time.monotonic() - start < CELL_SECONDS:
            time.sleep(0.02)
        return time.monotonic() - start

    def close(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)
