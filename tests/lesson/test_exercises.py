"""`check`: stubs, right and wrong answers, hints, answers that raise or never end."""

import time

import pytest

from course_utils.lesson import exercises
from course_utils.lesson.exercises import Exercise, Wrong, check, grade, is_stub

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


def test_a_right_answer_says_what_it_was_tested_on(capsys):
    check("x.double", lambda n: 2 * n)
    assert capsys.readouterr().out == "✓ x.double: right, tested on 21\n"


def test_an_untouched_stub_says_what_is_to_be_done_and_does_not_raise(capsys):
    def stub(n): ...

    check("x.double", stub)
    check("x.double", ...)
    check("x.double", None)
    assert capsys.readouterr().out == "… Not tried yet: write double(n).\n" * 3


def test_only_empty_bodies_are_stubs():
    def documented(n):
        """Says much, does nothing."""

    assert is_stub(documented)
    assert not is_stub(lambda n: n)
    assert not is_stub(0)


def test_wrong_answers_bring_hint_after_hint_and_then_the_solution(capsys):
    for _ in range(3):
        check("x.double", lambda n: n)
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "✗ answer(21) gave 21, want 42"
    assert said[1::2] == [
        "Hint 1 of 2: n + n",
        "Hint 2 of 2: or 2·n",
        "No more hints. The solution, worked: "
        'from course_utils import solution; solution("x.double")',
    ]


def test_an_answer_that_raises_is_wrong_and_names_its_own_line():
    def broken(n):
        return n / 0

    verdict = grade("x.double", broken)
    assert verdict.passed is False
    assert "ZeroDivisionError" in verdict.message and "return n / 0" in verdict.message


def test_an_answer_that_never_ends_is_wrong_and_does_not_hang():
    def endless(n):
        while True:
            pass

    start = time.perf_counter()
    verdict = grade("x.double", endless, limit_seconds=0.5)
    assert verdict.passed is False and "no answer within 0.5 s" in verdict.message
    assert time.perf_counter() - start < 10


def test_an_answer_that_is_no_function_is_wrong():
    assert grade("x.double", 42).passed is False


def test_an_unknown_exercise_brings_the_known_ones():
    with pytest.raises(LookupError, match=r"No exercise is called 'x.triple'. There are: x.double"):
        check("x.triple", 3)


def test_an_answer_that_wants_to_leave_is_wrong_at_once():
    import sys

    def leave(n):
        sys.exit()

    def stop(n):
        raise KeyboardInterrupt

    assert "SystemExit" in grade("x.double", leave).message
    assert "KeyboardInterrupt" in grade("x.double", stop).message


def test_an_answer_that_answers_everything_is_no_stub():
    class Strange:
        def __getattr__(self, name):
            return self

        def __call__(self, n):
            return 2 * n

    assert grade("x.double", Strange()).passed
