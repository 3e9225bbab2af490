"""Grades answers in a process of their own, which is ended where an answer never comes back."""

import contextlib
import io
import multiprocessing
import random
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any

TIMES = 1  # an answer counts as rejected if it is so each time
LIMIT_SECONDS = 2.0  # for one time
READY_SECONDS = 120  # for imports, and what an exercise prepares
PRELOADED = ["torch", "course_utils.core.gpus", "course_utils.lesson.exercises"]


class Grader:
    """`with Grader() as grader: grader.accepts(name, code)`, one answer after the other."""

    def __init__(self) -> None:
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(PRELOADED)

    def __enter__(self) -> "Grader":
        self._begin()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._end()

    def accepts(self, exercise: str, imports: str, code: str, limit: float = LIMIT_SECONDS) -> bool:
        """Whether the function that `code` ends with passes at least one of TIMES times.

        One that takes longer than `limit` seconds, or never ends, is not accepted.
        """
        self._mine.send((exercise, imports, code, limit))
        passed = None
        with contextlib.suppress(EOFError):
            if self._mine.poll(READY_SECONDS) and self._mine.recv():
                passed = self._mine.recv() if self._mine.poll(TIMES * limit + 5) else None
        if passed is None:  # it may still run
            self._end()
            self._begin()
        return bool(passed)

    def _begin(self) -> None:
        self._mine, theirs = self._context.Pipe()
        self._process = self._context.Process(target=_serve, args=(theirs,))
        self._process.start()
        theirs.close()

    def _end(self) -> None:
        self._process.kill()
        self._process.join()
        self._mine.close()


def _serve(asked: Connection) -> None:
    """Answers each question twice: that it is ready to grade, then the verdict."""
    from course_utils.lesson.exercises import find

    while True:
        exercise, imports, code, limit = asked.recv()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            prepare = find(exercise).prepare
            if prepare:
                prepare()
            asked.send(True)
            asked.send(_passes(exercise, imports, code, limit))


def _passes(exercise: str, imports: str, code: str, limit: float) -> bool | None:
    """None where it ran over the limit: what it began may still run in this process."""
    import torch

    from course_utils.lesson.exercises import grade

    try:
        answer = _function(imports, code)
    except SyntaxError:
        return False
    torch.set_num_threads(1)
    for seed in range(TIMES):
        random.seed(seed)
        torch.manual_seed(seed)
        verdict = grade(exercise, answer, limit)
        if verdict.passed is not False:
            return verdict.passed is True
        if verdict.message.startswith("no answer within"):
            return None if _still_runs() else False
    return False


def _still_runs() -> bool:
    """Whether a checker that was told to stop goes on all the same."""
    checkers = [one for one in threading.enumerate() if one.name == "checker"]
    for checker in checkers:
        checker.join(1)
    return any(checker.is_alive() for checker in checkers)


def _function(imports: str, code: str) -> Callable[..., Any]:
    """The function that the code defines. Raises: SyntaxError."""
    names: dict[str, Any] = {}
    exec(imports, names)
    before = set(names)
    exec(code, names)
    return next(value for name, value in names.items() if name not in before)
