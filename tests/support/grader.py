"""Grades answers in a process of their own, which is ended where an answer never comes back."""

import contextlib
import io
import multiprocessing
import random
import threading
from multiprocessing.connection import Connection
from typing import Any

from tests.support.patches import function

LIMIT_SECONDS = 2.0
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

    def __exit__(self, *error: Any) -> None:
        self._end()

    def accepts(self, exercise: str, imports: str, code: str, limit: float = LIMIT_SECONDS) -> bool:
        """Whether the function that `code` ends with passes, within `limit` seconds."""
        self._mine.send((exercise, imports, code, limit))
        passed = None
        with contextlib.suppress(EOFError):
            if self._mine.poll(READY_SECONDS) and self._mine.recv():
                passed = self._mine.recv() if self._mine.poll(limit + 5) else None
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
        answer = function(imports, code)
    except SyntaxError:
        return False
    torch.set_num_threads(1)
    random.seed(0)
    torch.manual_seed(0)
    verdict = grade(exercise, answer, limit)
    if verdict.message.startswith("no answer within"):
        return None if _still_runs() else False
    return verdict.passed is True


def _still_runs() -> bool:
    """Whether a checker that was told to stop goes on all the same."""
    checkers = [one for one in threading.enumerate() if one.name == "checker"]
    for checker in checkers:
        checker.join(1)
    return any(checker.is_alive() for checker in checkers)
