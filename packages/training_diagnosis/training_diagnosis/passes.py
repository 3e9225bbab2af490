"""Runs a script in a process of its own, and leaves none of its processes behind."""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from training_diagnosis.program import Order
from training_diagnosis.records import Seen

GRACE = 10.0  # seconds from "stop" to the end of a process that doesn't
START_SECONDS = 120.0  # for imports, data and the first step, beside the time of a pass
DEBUGGING = (  # variables that cost time in every step
    "CUDA_LAUNCH_BLOCKING", "TORCH_LOGS", "TORCH_SHOW_CPP_STACKTRACES", "TORCH_DISTRIBUTED_DEBUG",
    "NCCL_DEBUG", "PYTORCH_NO_CUDA_MEMORY_CACHING", "TORCH_COMPILE_DEBUG", "PYTHONMALLOC",
    "PYTHONDEVMODE", "PYTHONTRACEMALLOC", "MALLOC_CHECK_", "MALLOC_PERTURB_",
)  # fmt: skip


class ScriptError(RuntimeError):
    """The script failed by itself; the message is its own traceback."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


@dataclass
class Script:
    """A script, its arguments, and how much of it each pass may run."""

    path: str
    arguments: list[str] = field(default_factory=list)
    steps: int = 40
    seconds: float = 20.0
    environment: Mapping[str, str] = field(default_factory=dict)
    show: bool = False

    def run(
        self, change: str = "", look: bool = False, together: str = "",
        late: Callable[[], bool] = lambda: False,
    ) -> Seen:  # fmt: skip
        """One pass; its output goes to a file, or is shown with `show`.

        Ranks stop `together`, by files with this beginning; `late` says that this one must end.
        Raises: ScriptError where the process ended without a word.
        """
        with tempfile.TemporaryDirectory(prefix="diagnose-") as folder:
            order = Order(
                self.path, self.arguments, self.steps, self.seconds, f"{folder}/seen.json",
                change, look, together,
            )  # fmt: skip
            Path(folder, "order.json").write_bytes(msgspec.json.encode(order))
            environment = {**os.environ, **self.environment}
            if change == "clean-environment":
                environment = {k: v for k, v in environment.items() if k not in DEBUGGING}
            with open(f"{folder}/output", "wb") as output:
                process = subprocess.Popen(
                    [sys.executable, "-m", "training_diagnosis.program", f"{folder}/order.json"],
                    stdin=subprocess.DEVNULL, stdout=None if self.show else output,
                    stderr=None if self.show else subprocess.STDOUT, start_new_session=True,
                    env=environment,
                )  # fmt: skip
                limit = START_SECONDS + 4 * self.seconds
                try:
                    _wait(process, limit, lambda: os.path.exists(order.to), late)
                finally:
                    _end(process)
            said = Path(folder, "output").read_text(errors="replace")
            try:
                return msgspec.json.decode(Path(order.to).read_bytes(), type=Seen)
            except (OSError, msgspec.MsgspecError):
                status = process.returncode or 1
                how = f"signal {-status}" if status < 0 else f"status {status}"
                raise ScriptError(
                    f"{said[-4000:]}\nThe process of {self.path} ended with {how}.",
                    status if status > 0 else 1,
                ) from None


def _wait(
    process: subprocess.Popen[bytes], seconds: float, done: Callable[[], bool],
    late: Callable[[], bool],
) -> None:  # fmt: skip
    """Waits for the process; asks it to stop when the time is over."""
    until = time.monotonic() + seconds
    while time.monotonic() < until and not late():
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.05)
            return
        if done():  # it writes what it saw when all is over
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(GRACE)
            return
    process.send_signal(signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(GRACE)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends the process, and what it started and left in its session."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        for _ in range(100):  # until none is left
            os.killpg(process.pid, signal.SIGKILL)
            process.poll()
            time.sleep(0.01)
    process.wait()
