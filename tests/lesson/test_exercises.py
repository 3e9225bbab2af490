"""`check`: stubs, right and wrong answers, hints, answers that raise or never end."""

import sys
import threading
import time

import pytest

from course_utils.lesson import exercises
from course_utils.lesson.exercises import Exercise, Wrong, check, grade

pytestmark = pytest.mark.without_torch


def double(answer):
    if answer(21) != 42:
        raise Wrong(f"answer(21) gave {answer(21)}, want 42")
    return "21"


@pytest.fixture(autouse=True)
def one_exercise(monkeypatch):
    known = (Exercise("x.double", "write double(n).", double, ("n + n", "or 2·n"), "lesson"),)
    monkeypatch.setattr(exercises, "all_exercises", lambda: known)
    exercises._tries.clear()


class Strange:
    """Has every attribute, also those that stubs are known by."""

    def __getattr__(self, name):
        return self

    def __call__(self, n):
        return 2 * n


@pytest.mark.parametrize("answer", [lambda n: 2 * n, Strange()])
def test_a_right_answer_says_what_it_was_tested_on(answer, capsys):
    check("x.double", answer)
    assert capsys.readouterr().out == "✓ x.double: right, tested on 21\n"


def test_an_untouched_stub_says_what_is_to_be_done_and_does_not_raise(capsys):
    def stub(n): ...

    def documented(n):
        """Says much, does nothing."""

    for untouched in (stub, documented, ..., None):
        check("x.double", untouched)
    assert capsys.readouterr().out == "… Not tried yet: write double(n).\n" * 4


def test_wrong_answers_bring_hint_after_hint_and_then_the_solution(capsys):
    for _ in range(3):
        check("x.double", lambda n: n)
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "✗ answer(21) gave 21, want 42"
    assert said[1::2] == [
        "Hint 1 of 2: n + n",
        "Hint 2 of 2: or 2·n",
        'No more hints. The solution, worked: solution("x.double")',
    ]


def divide(n):
    return n / 0


def leave(n):
    sys.exit()


def interrupt(n):
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    "answer, says",
    [(divide, "n / 0"), (leave, "SystemExit"), (interrupt, "KeyboardInterrupt"), (4, "TypeError")],
)
def test_an_answer_that_raises_wants_to_leave_or_is_no_function_is_wrong(answer, says):
    verdict = grade("x.double", answer)
    assert verdict.passed is False and says in verdict.message


def test_an_answer_that_never_ends_is_wrong_and_is_ended():
    ended, start = threading.Event(), time.monotonic()

    def endless(n):
        try:
            while True:
                pass
        finally:
            ended.set()

    verdict = grade("x.double", endless, limit_seconds=0.5)
    assert verdict.passed is False and "no answer within 0.5 s" in verdict.message
    assert ended.wait(30) and time.monotonic() - start < 60


def test_an_unknown_exercise_brings_the_known_ones():
    with pytest.raises(LookupError, match=r"No exercise is called 'x.triple'. There are: x.double"):
        check("x.triple", 3)
