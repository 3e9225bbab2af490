"""`check`: says whether an answer to an exercise is right, and if not, what differs."""

import ast
import dis
import inspect
import sysconfig
import threading
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import CodeType
from typing import Any, TypeVar

from course_utils.core import files
from course_utils.core.stopping import stop
from course_utils.lesson import progress

LIMIT_SECONDS = 30
_tries: Counter[str] = Counter()


class _Stopped(BaseException):
    """Raised in an answer that runs too long."""


class Wrong(Exception):
    """Raised by a checker: what the answer did and what was wanted, with a picture if that helps.

    `picture` is a picture, or a function that draws it when it is shown.
    """

    def __init__(self, message: str, picture: Any = None) -> None:
        super().__init__(message)
        self.picture = picture


@dataclass(frozen=True)
class Exercise:
    """An exercise: its task, its checker, its hints, and the chapter that it belongs to.

    `checker(answer)` returns what it tested the answer on, or raises Wrong. It draws its own
    inputs, so that a hard-coded answer fails. `prepare` makes slow inputs once; its time isn't
    counted as the answer's.
    """

    name: str
    todo: str
    checker: Callable[[Any], str]
    hints: tuple[str, ...]
    folder: str
    prepare: Callable[[], Any] | None = None

    @property
    def solution(self) -> str:
        """Path of the notebook with the chapter's solutions, relative to the project's root."""
        (chapter,) = (path for path in files.chapters() if _folder(path) == self.folder)
        return f"notebooks/solutions/{chapter.name}"


Checker = TypeVar("Checker", bound=Callable[[Any], str])
_found: dict[str, dict[str, Exercise]] = defaultdict(dict)  # by folder and name, in their order


def exercise(
    name: str, todo: str, hints: tuple[str, ...], prepare: Callable[[], Any] | None = None
) -> Callable[[Checker], Checker]:
    """Decorator that makes a function the checker of exercise `name`, of the chapter it is in.

    Belongs in `course_utils.chapters.<chapter>.exercises`; `Exercise` describes the arguments.
    """

    def keep(checker: Checker) -> Checker:
        folder = checker.__module__.split(".")[-2]
        _found[folder][name] = Exercise(name, todo, checker, hints, folder, prepare)
        return checker

    return keep


@dataclass(frozen=True)
class Verdict:
    """The result of a check; `passed` is None for a stub that nobody changed."""

    passed: bool | None
    message: str
    picture: Any = None


def check(name: str, answer: Any) -> None:
    """Prints whether an answer to exercise `name` is right, and if not, what differs.

    Never raises because of the answer. Each wrong try prints the next hint, then how to see the
    solution.
    Raises: LookupError for an exercise that doesn't exist.
    """
    exercise = find(name)
    verdict = grade(name, answer)
    if verdict.passed is None:
        print(f"… {verdict.message}")
    elif verdict.passed:
        print(f"✓ {verdict.message}")
        progress.passed(name)
    else:
        _tries[name] += 1
        print(f"✗ {verdict.message}\n{_hint(exercise, _tries[name])}")
        _display(verdict.picture)


def grade(name: str, answer: Any, limit_seconds: float = LIMIT_SECONDS) -> Verdict:
    """The verdict on an answer; one that raises, or exceeds the time limit, is wrong."""
    exercise = find(name)
    if is_stub(answer):
        return Verdict(None, f"Not tried yet: {exercise.todo}")
    if exercise.prepare:
        exercise.prepare()
    outcome: list[Verdict] = []

    def judge() -> None:
        with suppress(_Stopped):
            outcome.append(_judge(exercise, answer))

    worker = threading.Thread(target=judge, daemon=True, name="checker")
    worker.start()
    try:
        worker.join(limit_seconds)
        done = outcome[:]
    finally:  # also when the reader interrupts the kernel
        if not outcome:
            stop([worker], _Stopped)
    if done:
        return done[0]
    return Verdict(False, f"no answer within {limit_seconds:g} s: does it wait for ever?")


def hint(name: str, number: int = 1) -> None:
    """Prints a hint of exercise `name`: the first one, or hint `number`."""
    print(_hint(find(name), number))


def solution(name: str) -> None:
    """Shows the worked solution of exercise `name`: its words, its code, what the check said.

    Raises: LookupError for an exercise that doesn't exist.
    """
    _display(worked(name, find(name).solution))


def find(name: str) -> Exercise:
    """The exercise `chapter.what`. Raises: LookupError, with the existing names, for another."""
    known = {one.name: one for one in all_exercises()}
    if name not in known:
        raise LookupError(f"No exercise is called {name!r}. There are: {', '.join(known)}.")
    return known[name]


def is_stub(answer: Any) -> bool:
    """True for an unchanged stub: None, `...`, or a function with only a docstring or `...`."""
    if answer is None or answer is ...:
        return True
    code = getattr(answer, "__code__", None)
    if not isinstance(code, CodeType):
        return False
    steps = [s for s in dis.get_instructions(code) if s.opname not in ("RESUME", "NOP")]
    return {s.opname for s in steps} <= RETURNS and steps[0].argval is None


LIBRARIES = ("course_utils", "site-packages", sysconfig.get_path("stdlib"))
RETURNS = {"LOAD_CONST", "RETURN_VALUE", "RETURN_CONST"}
CHAPTERS = files.ROOT / "course_utils" / "chapters"


def all_exercises() -> list[Exercise]:
    """Every exercise of the course, in the order of the chapters."""
    return [one for folder in chapter_folders() for one in exercises_of(folder)]


def chapter_folders() -> list[str]:
    """The folders in `course_utils.chapters` that have exercises."""
    names = map(_folder, files.chapters())
    return [name for name in names if (CHAPTERS / name / "exercises.py").exists()]


def exercises_of(folder: str) -> list[Exercise]:
    """The exercises of a chapter's folder, in the order of their checkers in its file."""
    import_module(f"course_utils.chapters.{folder}.exercises")
    return list(_found[folder].values())


def _folder(chapter: Path) -> str:
    return chapter.stem.partition("_")[2]


def _judge(exercise: Exercise, answer: Any) -> Verdict:
    try:
        return Verdict(True, f"{exercise.name}: right, tested on {exercise.checker(answer)}")
    except Wrong as wrong:
        return Verdict(False, str(wrong), wrong.picture)
    except _Stopped:
        raise
    except BaseException as error:
        notes = "".join(f", {note}" for note in getattr(error, "__notes__", []))
        return Verdict(False, f"your code raised {_said(error)}{_where(error)}{notes}")


def _said(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        return type(error).__name__


def _where(error: BaseException) -> str:
    """The line of the reader's code that raised, if there is one."""
    steps = inspect.getinnerframes(error.__traceback__) if error.__traceback__ else []
    own = [step for step in steps if not any(one in step.filename for one in LIBRARIES)]
    if not own:
        return ""
    source = own[-1].code_context[0].strip() if own[-1].code_context else ""
    return f" (line {own[-1].lineno}: {source})"


def _display(picture: Any) -> None:
    if picture is not None:
        from IPython.display import display

        display(picture() if callable(picture) else picture)


def _hint(exercise: Exercise, number: int) -> str:
    total = len(exercise.hints)
    if number > total:
        return f'No more hints. The solution, worked: solution("{exercise.name}")'
    return f"Hint {number} of {total}: {exercise.hints[number - 1]}"


# ---- The worked solution of an exercise, from its notebook.


class Worked:
    """Words and code of a solution; displays as Markdown on a page, else as text."""

    def __init__(self, words: str, code: str) -> None:
        self.words, self.code = words, code

    def _repr_markdown_(self) -> str:
        return f"{self.words}\n\n```python\n{self.code}\n```"

    def __repr__(self) -> str:
        return f"{self.words}\n\n{self.code}"


def worked(exercise: str, notebook: str) -> Worked:
    """The section of `notebook` (a path relative to the root) that ends in the exercise's check.

    Raises: LookupError if the notebook has no such check.
    """
    import nbformat

    words: list[str] = []
    code: list[str] = []
    earlier: list[str] = []
    path = files.SOLUTIONS / Path(notebook).name
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "markdown":
            begins = cell.source.lstrip().startswith("#")
            words, code = [*([] if begins else words), cell.source], []
        else:
            code.append(cell.source)
            if f'check("{exercise}"' in cell.source:
                text = "\n\n".join(code)
                return Worked("\n\n".join(words), _imports(text, earlier) + text)
            earlier.append(cell.source)
    raise LookupError(f"{notebook} has no solution of {exercise}.")


def _imports(code: str, earlier: list[str]) -> str:
    """The imports of earlier cells that `code` needs, so that it runs where it is pasted."""
    used = {node.id for node in ast.walk(_tree(code)) if isinstance(node, ast.Name)}
    found = []
    for cell in earlier:
        for node in _tree(cell).body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                wanted = [one for one in node.names if (one.asname or one.name) in used]
                node.names = wanted
                if wanted and ast.unparse(node) not in code:
                    found.append(ast.unparse(node))
    return "\n".join([*dict.fromkeys(found), "", ""]) if found else ""


def _tree(code: str) -> ast.Module:
    """The parsed code of a cell, without magics."""
    lines = code.splitlines()
    return ast.parse("\n".join(x for x in lines if not x.lstrip().startswith(("%", "!"))))
