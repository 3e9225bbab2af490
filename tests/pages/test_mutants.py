"""The checks of the exercises against solutions with one thing changed in one line.

What passes is listed in `surviving_mutants.toml`, with the reason why it is right as well, or why
the check lets it pass.
"""

import tomllib
from functools import cache
from pathlib import Path

import pytest

from course_utils.lesson.exercises import all_exercises
from tests.support.grader import Grader
from tests.support.mutants import Mutant, mutants
from tests.support.patches import solution_of

pytestmark = [
    pytest.mark.thorough(),
    pytest.mark.thorough("tests/pages/surviving_mutants.toml", "course_utils/lesson/answers.py"),
    pytest.mark.thorough("tests/support/mutants.py", "tests/support/grader.py"),
    pytest.mark.thorough("tests/support/patches.py", "course_utils/lesson/exercises.py"),
]
EXERCISES = [exercise.name for exercise in all_exercises()]
LISTED = tomllib.loads((Path(__file__).parent / "surviving_mutants.toml").read_text("utf-8"))


@pytest.fixture(scope="module")
def grader():
    with Grader() as one:
        yield one


@cache
def mutants_of(exercise: str) -> list[Mutant]:
    return mutants(solution_of(exercise)[1])


@pytest.mark.parametrize("exercise", EXERCISES)
def test_a_solution_with_a_line_changed_is_rejected_or_listed_with_a_reason(exercise, grader):
    imports, solution = solution_of(exercise)
    assert grader.accepts(exercise, imports, solution, limit=30)
    survivors = [
        str(mutant)
        for mutant in mutants_of(exercise)
        if str(mutant) not in LISTED.get(exercise, {})
        and grader.accepts(exercise, imports, mutant.code)
    ]
    assert not survivors


@pytest.mark.parametrize("exercise", EXERCISES)
def test_what_is_listed_as_a_survivor_is_still_a_mutant(exercise):
    listed = LISTED.get(exercise, {})
    assert set(listed) <= {str(mutant) for mutant in mutants_of(exercise)}
    assert all(reason.strip() for reason in listed.values())


def test_at_least_95_percent_of_all_mutants_are_rejected():
    total = sum(len(mutants_of(exercise)) for exercise in EXERCISES)
    assert sum(map(len, LISTED.values())) <= 0.05 * total
