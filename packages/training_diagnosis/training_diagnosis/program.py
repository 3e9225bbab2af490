"""Runs a script as `python script.py` would, watched; the command starts this in a process.

The watch is installed when the script has imported torch, so that what it sets before (threads,
devices) still counts.
"""

import contextlib
import ctypes
import glob
import importlib.machinery
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

from training_diagnosis.records import Seen
from training_diagnosis.watching import Enough, Watch


class Order(msgspec.Struct):
    """The order for one pass."""

    script: str = ""
    arguments: list[str] = []
    steps: int = 40
    seconds: float = 20.0
    to: str = ""  # file for what was seen
    change: str = ""
    look: bool = False
    together: str = ""  # the beginning of the names of files by which ranks agree when to stop


class Pass:
    """One watched run of a script or a function: `install` once torch is imported, then `run`."""

    def __init__(self, order: Order) -> None:
        self.order, self.watch = order, Watch(order.steps, order.seconds, order.together)
        self.looker: Any = None
        self.stopped_at = ""  # the reader's line, where the time was over

    def install(self) -> None:
        from training_diagnosis import changes
        from training_diagnosis.looking import Looker

        self.watch.install()
        if self.order.change:
            changes.apply(self.order.change, self.watch)
        self.looker = Looker(self.watch) if self.order.look else None

    def run(self, call: Callable[[], Any], after: Callable[[], Any] = bool) -> Seen:
        """Watches a call, then restores torch. `after` comes first when it ended."""
        try:
            ended, error, code = outcome(call)
            after()
            if self.looker:
                self.looker.stop()
            seen = self.watch.seen()
        finally:
            self.watch.remove()
        seen.change, seen.error, seen.exit_code = self.order.change, error, code
        seen.ended = "no time" if self.stopped_at else ended
        seen.facts["stopped_at"] = self.stopped_at
        seen.applied = self.watch.facts["applied"]
        seen.look = self.looker.look() if self.looker else None
        return seen


def outcome(call: Callable[[], Any]) -> tuple[str, str, int]:
    """Calls, and returns how that ended: a word, the caller's own traceback, an exit status."""
    try:
        call()
    except Enough:
        return "stopped", "", 0
    except SystemExit as leave:
        code = leave.code if isinstance(leave.code, int) else int(leave.code is not None)
        said = "" if isinstance(leave.code, int | None) else str(leave.code)
        return ("error" if code else "finished"), said, code
    except Exception as error:
        if isinstance(error.__context__, Enough):  # what a `finally` of the script raised
            return "stopped", "", 0
        return "error", theirs(error), 1
    return "finished", "", 0


class OnImport:
    """Finds torch once, for `sys.meta_path`, and calls a function when it has been imported."""

    def __init__(self, then: Callable[[], None]) -> None:
        self.then = then

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec and spec.loader:
            execute = spec.loader.exec_module
            spec.loader.exec_module = lambda module: (execute(module), self.then())  # type: ignore
        return spec


def main(path: str) -> int:
    """Runs the order in this file; what was seen goes to the file that it names."""
    order = msgspec.json.decode(Path(path).read_bytes(), type=Order)
    one = Pass(order)
    one.watch.main = os.path.abspath(order.script)
    _end_with_parent()

    def stop(_number: int, frame: Any) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        file, line = one.watch.places.line(frame)
        one.stopped_at = f"{os.path.basename(file)}:{line}" if line else "a library"
        raise Enough

    signal.signal(signal.SIGTERM, stop)
    if "torch" in sys.modules:
        one.install()
    else:
        sys.meta_path.insert(0, OnImport(one.install))
    seen = one.run(lambda: _run_file(order), lambda: signal.signal(signal.SIGTERM, signal.SIG_IGN))
    part = Path(f"{order.to}.part")
    with contextlib.suppress(OSError):
        part.write_bytes(msgspec.json.encode(seen))
        part.replace(order.to)
    if order.together and seen.ended != "error":
        _wait_for_ranks(order.together)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(seen.exit_code)  # threads and workers of the script would keep the process


def _wait_for_ranks(together: str) -> None:
    """Waits until the other ranks have ended too: they may still be in the last collective."""
    until = time.monotonic() + 5.0
    Path(f"{together}.{os.environ['RANK']}.over").touch()
    count, wanted = 0, int(os.environ["WORLD_SIZE"])
    while count < wanted and time.monotonic() < until:
        time.sleep(0.01)
        count = len(glob.glob(f"{together}.*.over"))


def _end_with_parent() -> None:
    """Asks Linux to kill this process when the command that started it is killed."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG, see prctl(2)


def _run_file(order: Order) -> None:
    """As `python script`: its folder first on the path, itself the module `__main__`, which
    pickles and worker processes find again.
    """
    path = os.path.abspath(order.script)
    code = compile(Path(path).read_bytes(), path, "exec")
    main = ModuleType("__main__")
    vars(main).update(__file__=path, __builtins__=__builtins__, __spec__=None)
    sys.argv, sys.path[0] = [order.script, *order.arguments], os.path.dirname(path)
    sys.modules["__main__"] = main
    exec(code, vars(main))


def theirs(error: BaseException) -> str:
    """The traceback as Python would print it: without the frames of this folder."""
    here = os.path.dirname(__file__)
    told: traceback.TracebackException | None = traceback.TracebackException.from_exception(error)
    first = told
    while told is not None:
        kept = [frame for frame in told.stack if not frame.filename.startswith(here)]
        told.stack = traceback.StackSummary.from_list(kept)
        told = told.__cause__ or told.__context__
    return "".join(first.format()) if first else ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
