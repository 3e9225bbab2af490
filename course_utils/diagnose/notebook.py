"""Diagnoses a training function in the notebook's own process."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from course_utils.diagnose.diagnosis import diagnose
from course_utils.diagnose.program import Order, Pass
from course_utils.diagnose.records import Report, Seen


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


def _nothing(text: str) -> None:
    pass
