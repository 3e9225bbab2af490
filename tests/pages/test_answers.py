"""Every exercise: its solution passes, its stub isn't taken for an answer, wrong answers fail."""

import ast
import dataclasses
import inspect
import json
import math
import re
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import pytest
import torch

from course_utils.core import files
from course_utils.lesson.exercises import (
    all_exercises,
    chapter_folders,
    exercises_of,
    grade,
    worked,
)
from tests.support.patches import cells, preamble

EXERCISES = all_exercises()
CHAPTERS = files.ROOT / "tests" / "chapters"


def answers(module, name):
    """The answers in this module of each chapter, each with its exercise."""
    for room in chapter_folders():
        if (CHAPTERS / room / f"{module}.py").exists():
            found = getattr(import_module(f"tests.chapters.{room}.{module}"), name)
            for exercise, some in found.items():
                for one in some:
                    yield pytest.param(exercise, one, id=f"{exercise}-{called(one)}")


def called(answer):
    return getattr(answer, "__name__", type(answer).__name__)


WRONG, RIGHT = list(answers("wrong_answers", "WRONG")), list(answers("right_answers", "RIGHT"))
each_exercise = pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.name)


@pytest.fixture(scope="module")
def times(request):
    """How often each answer is graded: a check draws other inputs each time."""
    return 1 if request.config.getoption("quick") else 3


def answer_in(path, exercise, first=preamble):
    """The function that the notebook's cell hands to `check`, `first` the code before it."""
    (cell,) = [c for c in cells(path) if f'check("{exercise.name}"' in c]
    names: dict = {}
    exec(first(path) + "\n" + cell, names)
    return names[cell.rsplit(",", 1)[1].strip(" )\n")]


@each_exercise
def test_the_solution_passes_again_and_again(exercise, times):
    answer = answer_in(files.ROOT / exercise.solution, exercise)
    for _ in range(1 if times == 1 else 10):
        verdict = grade(exercise.name, answer)
        assert verdict.passed, verdict.message


@each_exercise
def test_the_solution_that_is_shown_passes_where_it_is_pasted(exercise, capsys):
    names = defined_in(files.NOTEBOOKS / (files.ROOT / exercise.solution).name)
    exec(worked(exercise.name, exercise.solution).code, names)
    assert f"✓ {exercise.name}: right" in capsys.readouterr().out


def imports(page):
    return cells(page)[0].partition("start(")[0]


def defined_in(page):
    """What a reader's kernel has by then: the page's imports, and the functions of its cells."""
    names: dict = {}
    exec(imports(page), names)
    for cell in cells(page):
        with suppress(SyntaxError, NameError):  # a magic, or a name that no function has
            for node in ast.parse(cell).body:
                exec(ast.unparse(node), names) if isinstance(node, ast.FunctionDef) else None
    return names


@each_exercise
def test_the_chapters_stub_is_not_tried_yet(exercise):
    chapter = files.NOTEBOOKS / (files.ROOT / exercise.solution).name
    verdict = grade(exercise.name, answer_in(chapter, exercise, imports))
    assert verdict.passed is None and exercise.todo in verdict.message


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("name, wrong", WRONG)
def test_a_wrong_answer_is_rejected_every_time(name, wrong, times):
    for _ in range(times):
        assert grade(name, wrong).passed is False


@pytest.mark.parametrize("name, right", RIGHT)
def test_a_right_answer_of_another_kind_is_accepted_every_time(name, right, times):
    for _ in range(times):
        verdict = grade(name, right)
        assert verdict.passed, verdict.message


@each_exercise
def test_an_answer_that_gives_nan_or_nothing_never_passes(exercise):
    for given in (math.nan, None, [], True):
        verdict = grade(exercise.name, lambda *_: given)  # noqa: B023
        assert verdict.passed is False
        if given is math.nan and verdict.message.startswith("you return"):
            assert "nan" in verdict.message


@each_exercise
def test_the_solution_with_nan_for_its_numbers_never_passes(exercise):
    solution = answer_in(files.ROOT / exercise.solution, exercise)
    spoiled = []

    def spoil(*given):
        result = solution(*given)
        if result is None:
            spoiled.extend(fill_with_nan(one) for one in given)
            return None
        return with_nan(result, spoiled)

    verdict = grade(exercise.name, spoil)
    assert verdict.passed is False or not any(spoiled)


def with_nan(result, spoiled):
    """The same with NaN for every number in it, and True in `spoiled` where there was one."""
    if isinstance(result, list | tuple | set):
        return type(result)(with_nan(one, spoiled) for one in result)
    spoiled.append(not isinstance(result, str | None))
    if isinstance(result, torch.Tensor):
        return torch.full_like(result, math.nan)
    if isinstance(result, str | None):
        return result
    if hasattr(result, "value"):
        return dataclasses.replace(result, value=math.nan)
    return math.nan


def fill_with_nan(given):
    """Makes every tensor of floats in what an answer was given NaN; whether there was one."""
    if isinstance(given, list | tuple):
        return any([fill_with_nan(one) for one in given])
    if isinstance(given, dict):
        return fill_with_nan(list(given.values()))
    if isinstance(given, torch.nn.Module):
        return fill_with_nan(list(given.parameters()))
    if isinstance(given, torch.Tensor) and given.is_floating_point():
        given.data.fill_(math.nan)
        return True
    return False


@pytest.mark.parametrize("room", chapter_folders())
def test_a_chapters_exercises_are_those_of_its_page_in_order(room):
    found = exercises_of(room)
    page = files.NOTEBOOKS / Path(found[0].solution).name
    assert [e.name for e in found] == re.findall(r'check\("([\w.]+)"', "\n".join(cells(page)))


@each_exercise
def test_every_exercise_has_hints_and_three_wrong_answers(exercise):
    assert exercise.hints and sum(one.values[0] == exercise.name for one in WRONG) >= 3


@pytest.mark.parametrize(
    "exercise, answer",
    [
        ("async.double_buffer", "one_buffer"),
        ("collectives.ring", "stops_one_step_early"),
    ],
)
def test_a_wrong_schedule_or_collective_is_drawn(exercise, answer):
    (wrong,) = [one.values[1] for one in WRONG if one.id == f"{exercise}-{answer}"]
    assert grade(exercise, wrong).picture().png


def test_the_slow_loop_on_the_page_is_the_one_that_the_check_runs():
    from course_utils.chapters.async_execution.exercises import slow_train

    page = "".join(
        "".join(c["source"])
        for c in json.loads((files.NOTEBOOKS / "02_async_execution.ipynb").read_text())["cells"]
        if c["cell_type"] == "markdown"
    )
    assert "".join(f"> {line}\n" for line in body(slow_train).splitlines()).strip() in page


def body(function):
    """The lines of a function, without signature and docstring."""
    lines, *_ = inspect.getsourcelines(function)
    return "".join(lines[2 if function.__doc__ else 1 :])


def test_what_exercises_of_chapter_04_begin_with_is_what_their_checks_run():
    from course_utils.chapters.compile_and_graphs.exercises import broken, step
    from tests.chapters.compile_and_graphs.wrong_answers import slow_loop

    page = "\n".join(cells(files.NOTEBOOKS / "04_compile_and_graphs.ipynb"))
    for function in (broken, step, slow_loop):
        names = ", ".join(inspect.signature(function).parameters)
        assert f"def {function.__name__}({names}):\n{body(function)}" in page
