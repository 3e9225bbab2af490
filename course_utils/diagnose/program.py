"""Runs a script as `python script.py` would, watched; the command starts this in a process.

The watch is installed when the script has imported torch, so that what it sets before (threads,
devices) still counts.
"""

import contextlib
import importlib.abc
import importlib.machinery
import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

from course_utils.diagnose.records import Seen
from course_utils.diagnose.watching import Enough, Watch


class Order(msgspec.Struct):
    """What one pass is to do."""

    script: str
    arguments: list[str]
    steps: int
    seconds: float
    to: str  # file for what was seen
    change: str = ""
    look: bool = False


class OnImport(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Calls a function once, when torch has been imported."""

    def __init__(self, then: Callable[[], None]) -> None:
        self.then = then

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec and spec.loader:
            self.real = spec.loader
            spec.loader = self
        return spec

    def create_module(self, spec: Any) -> Any:
        return self.real.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__
        module.__spec__.loader = module.__loader__ = self.real
        self.real.exec_module(module)
        self.then()


def main(path: str) -> int:
    """Runs the order in this file; what was seen goes to the file that it names."""
    order = msgspec.json.decode(Path(path).read_bytes(), type=Order)
    watch = Watch(order.steps, order.seconds)
    looker: list[Any] = []

    def install() -> None:
        from course_utils.diagnose import changes

        watch.install()
        if order.change:
            changes.apply(order.change, watch)
        if order.look:
            from course_utils.diagnose.looking import Looker

            looker.append(Looker(watch))

    def stop(_number: int, _frame: Any) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        watch.facts["no_time"] = 1
        raise Enough

    signal.signal(signal.SIGTERM, stop)
    if "torch" in sys.modules:
        install()
    else:
        sys.meta_path.insert(0, OnImport(install))
    ended, error, code = run(order)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    seen = watch.seen()
    seen.change, seen.error, seen.exit_code = order.change, error, code
    seen.ended = "no time" if watch.facts["no_time"] else ended
    seen.applied = watch.facts["applied"]
    if looker:
        seen.look = looker[0].look()
    _write(seen, order.to)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # threads and workers of the script would keep the process


def run(order: Order) -> tuple[str, str, int]:
    """Runs the script: how it ended, its own traceback, its exit status."""
    sys.argv = [order.script, *order.arguments]
    try:
        _run_file(order.script)
    except Enough:
        return "stopped", "", 0
    except SystemExit as leave:
        code = leave.code if isinstance(leave.code, int) else int(leave.code is not None)
        said = "" if isinstance(leave.code, int | None) else str(leave.code)
        return ("error" if code else "finished"), said, code
    except BaseException as error:
        if isinstance(error.__context__, Enough):  # what a `finally` of the script raised
            return "stopped", "", 0
        return "error", theirs(error), 1
    return "finished", "", 0


def _run_file(script: str) -> None:
    """As `python script`: its folder first on the path, itself the module `__main__`, which
    pickles and worker processes find again.
    """
    path = os.path.abspath(script)
    code = compile(Path(path).read_bytes(), path, "exec")
    main = ModuleType("__main__")
    vars(main).update(__file__=path, __builtins__=__builtins__, __spec__=None)
    sys.path[0] = os.path.dirname(path)
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


def _write(seen: Seen, to: str) -> None:
    part = f"{to}.part"
    with contextlib.suppress(OSError):
        Path(part).write_bytes(msgspec.json.encode(seen))
        os.replace(part, to)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
