"""Diagnoses a training function in the notebook's own process: `watch`, and `%diagnose`."""

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

from training_diagnosis.diagnosis import diagnose
from training_diagnosis.program import Order, Pass
from training_diagnosis.records import Report, Seen
from training_diagnosis.report import in_words


@dataclass
class Function:
    """A function that trains; each pass calls it again, and stops it after enough steps."""

    function: Callable[[], Any]
    steps: int = 40
    path: str = "this notebook"
    arguments: list[str] = field(default_factory=list)

    def run(self, change: str = "", look: bool = False) -> Seen:
        """One pass. An error of the function's own is kept in what was seen."""
        one = Pass(Order(steps=self.steps, change=change, look=look))
        code = getattr(self.function, "__code__", None)
        one.watch.main = code.co_filename if code else ""
        try:
            one.install()
        except BaseException:
            one.watch.remove()
            raise
        return one.run(self.function)


def watch(
    function: Callable[[], Any], steps: int = 40, minutes: float = 3.0, try_changes: bool = True
) -> Report:
    """Calls a training function several times, and returns the report on its steps.

    The function makes its own model and loader, so that each pass begins alike. `in_words(report)`
    is the text. Raises: ScriptError with its traceback where it fails before it has made steps.
    """
    said = (lambda text: print(text, file=sys.stderr)) if sys.stderr.isatty() else _nothing
    return diagnose(Function(function, steps), minutes, try_changes, said)


def magic(shell: Any, line: str, cell: str | None = None) -> None:
    """`%diagnose train()`, or `%%diagnose` above a loop; `--steps N` and `--no-changes` come first.

    Each pass runs the code again, in a copy of the notebook's names: what it assigns stays there,
    but a model that was made in another cell goes on training. Prints the report.
    """
    parser = argparse.ArgumentParser(prog="%diagnose", add_help=False, exit_on_error=False)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--no-changes", action="store_true")
    parser.add_argument("code", nargs=argparse.REMAINDER)
    options = parser.parse_args(line.split())
    source = shell.transform_cell(cell or " ".join(options.code))
    source = "\n" + source if cell else source  # lines are numbered as in the whole cell
    code = compile(source, shell.compile.cache(source, shell.execution_count), "exec")
    train = FunctionType(code, {**shell.user_ns})
    print(in_words(watch(train, options.steps, try_changes=not options.no_changes)))


def _nothing(text: str) -> None:
    pass
