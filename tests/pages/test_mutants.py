"""The checks of the exercises against solutions with one thing changed in one line.

What passes is listed in `surviving_mutants.toml`, with the reason why it is right as well, or why
the check lets it pass.
"""

import tomllib
from functools import cache
from pathlib import Path

import pytest

from course_utils.core import files
from course_utils.lesson.exercises import Exercise, all_exercises
from tests.pages.test_answers import cells
from tests.support.grader import Grader
from tests.support.mutants import Mutant, mutants

EXERCISES = all_exercises()
LISTED = tomllib.loads((Path(__file__).parent / "surviving_mutants.toml").read_text("utf-8"))


@pytest.fixture(scope="module")
def grader():
    with Grader() as one:
        yield one


def imports_of(exercise: Exercise) -> str:
    return cells(files.ROOT / exercise.solution)[0].partition("start(")[0]


def solution_of(exercise: Exercise) -> str:
    (cell,) = [c for c in cells(files.ROOT / exercise.solution) if f'"{exercise.name}"' in c]
    return cell.partition("\ncheck(")[0]


@cache
def mutants_of(exercise: Exercise) -> list[Mutant]:
    return mutants(solution_of(exercise))


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.name)
def test_a_solution_unchanged_is_accepted_where_its_mutants_are_graded(exercise, grader):
    assert grader.accepts(exercise.name, imports_of(exercise), solution_of(exercise), limit=30)


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.name)
def test_a_solution_with_a_line_changed_is_rejected_or_listed_with_a_reason(exercise, grader):
    listed = LISTED.get(exercise.name, {})
    survivors = [
        str(mutant)
        for mutant in mutants_of(exercise)
        if str(mutant) not in listed
        and grader.accepts(exercise.name, imports_of(exercise), mutant.code)
    ]
    assert not survivors


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.name)
def test_what_is_listed_as_a_survivor_is_still_a_mutant(exercise):
    listed = LISTED.get(exercise.name, {})
    assert set(listed) <= {str(mutant) for mutant in mutants_of(exercise)}
    assert all(reason.strip() for reason in listed.values())


def test_at_least_95_percent_of_all_mutants_are_rejected():
    total = sum(len(mutants_of(exercise)) for exercise in EXERCISES)
    assert sum(map(len, LISTED.values())) <= 0.05 * total
