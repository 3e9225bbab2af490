"""Every exercise: its solution passes, its stub isn't taken for an answer, wrong answers fail."""

import dataclasses
import inspect
import json
import math
import re
import time
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import torch

from course_utils.core import files
from course_utils.lesson.exercises import all_exercises, exercises_of, grade, rooms
from course_utils.lesson.solution import worked

EXERCISES = all_exercises()
CHAPTERS = files.ROOT / "tests" / "chapters"
WRONG = {
    name: answers
    for room in rooms()
    for name, answers in import_module(f"tests.chapters.{room}.wrong_answers").WRONG.items()
}
RIGHT = {
    name: answers
    for room in rooms()
    if (CHAPTERS / room / "right_answers.py").exists()
    for name, answers in import_module(f"tests.chapters.{room}.right_answers").RIGHT.items()
}
NAN = {
    "a float": math.nan,
    "of numpy": np.float32("nan"),
    "of torch": torch.tensor(math.nan, requires_grad=True),
    "a tensor": torch.full((4,), math.nan),
    "an array": np.full(4, math.nan),
    "a pair": (math.nan, math.nan),
}
NOTHING = {"None": None, "the empty list": [], "a text": "nan", "True": True}


def cells(path):
    found = json.loads(path.read_text())["cells"]
    return ["".join(c["source"]) for c in found if c["cell_type"] == "code"]


def answer_in(path, exercise):
    """The function that the notebook's cell hands to `check`."""
    (cell,) = [c for c in cells(path) if f'check("{exercise.name}"' in c]
    imports = cells(path)[0].partition("start(")[0]
    names: dict = {}
    exec(imports + cell, names)
    return names[cell.rsplit(",", 1)[1].strip(" )\n")]


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.name)
def test_the_solution_passes_again_and_again(exercise):
    answer, begun = answer_in(files.ROOT / exercise.solution, exercise), time.perf_counter()
    for times in range(20):
        if times >= 3 and time.perf_counter() - begun > 2:
            break
        verdict = grade(exercise.name, answer)
        assert verdict.passed, verdict.message


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.name)
def test_the_chapters_stub_is_not_tried_yet(exercise):
    chapter = files.NOTEBOOKS / (files.ROOT / exercise.solution).name
    verdict = grade(exercise.name, answer_in(chapter, exercise))
    assert verdict.passed is None and exercise.todo in verdict.message


@pytest.mark.parametrize(
    "name, wrong",
    [(name, wrong) for name, answers in WRONG.items() for wrong in answers],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_a_wrong_answer_is_rejected_every_time(name, wrong):
    for _ in range(3):
        assert grade(name, wrong).passed is False


@pytest.mark.parametrize(
    "name, right",
    [(name, right) for name, answers in RIGHT.items() for right in answers],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_a_right_answer_of_another_kind_is_accepted_every_time(name, right):
    for _ in range(3):
        verdict = grade(name, right)
        assert verdict.passed, verdict.message


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.name)
@pytest.mark.parametrize("given", [*NAN, *NOTHING])
def test_an_answer_that_gives_nan_or_nothing_never_passes(exercise, given):
    verdict = grade(exercise.name, lambda *_: (NAN | NOTHING)[given])
    assert verdict.passed is False
    if given == "a float" and verdict.message.startswith("you return"):
        assert "nan" in verdict.message


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.name)
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
    if isinstance(given, torch.nn.Module):
        return fill_with_nan(list(given.parameters()))
    if isinstance(given, torch.Tensor) and given.is_floating_point():
        given.data.fill_(math.nan)
        return True
    return False


@pytest.mark.parametrize("room", rooms())
def test_a_chapters_exercises_are_those_of_its_page_in_order(room):
    found = exercises_of(room)
    page = files.NOTEBOOKS / Path(found[0].solution).name
    assert [e.name for e in found] == re.findall(r'check\("([\w.]+)"', "\n".join(cells(page)))


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.name)
def test_every_exercise_has_hints_and_three_wrong_answers(exercise):
    assert exercise.hints and len(WRONG[exercise.name]) >= 3


def test_a_wrong_schedule_is_drawn():
    from tests.chapters.async_execution.wrong_answers import one_buffer

    assert grade("async.double_buffer", one_buffer).picture().png


def test_a_wrong_collective_and_a_wrong_rounding_are_drawn():
    from tests.chapters.collectives.wrong_answers import stops_one_step_early
    from tests.chapters.floating_point_formats.wrong_answers import half_goes_up

    assert grade("collectives.ring", stops_one_step_early).picture().png
    assert grade("formats.quantiser", half_goes_up).picture().png


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
    from course_utils.chapters.compile_and_graphs.exercises import broken
    from course_utils.chapters.compile_and_graphs.recompiling import step
    from tests.chapters.compile_and_graphs.wrong_answers import slow_loop

    page = "\n".join(cells(files.NOTEBOOKS / "04_compile_and_graphs.ipynb"))
    for function in (broken, step, slow_loop):
        names = ", ".join(inspect.signature(function).parameters)
        assert f"def {function.__name__}({names}):\n{body(function)}" in page


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.name)
def test_the_solution_that_is_shown_runs_where_it_is_pasted(exercise):
    chapter = files.NOTEBOOKS / (files.ROOT / exercise.solution).name
    names: dict = {}
    exec(cells(chapter)[0].partition("start(")[0], names)
    shown = worked(exercise.name, exercise.solution).code
    exec(shown, names)
    assert f'check("{exercise.name}"' in shown
