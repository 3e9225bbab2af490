"""The worked solution of an exercise is shown with its code and its words."""

import pytest

from course_utils.lesson import catalog, exercises
from course_utils.lesson.solution import worked


@pytest.mark.parametrize("exercise", [c for one in catalog.written() for c in one.exercises()])
def test_the_worked_solution_of_every_exercise_can_be_shown(exercise):
    found = worked(exercise, exercises.find(exercise).solution)
    assert f'check("{exercise}"' in found.code
    assert found.words.startswith("## ")
    assert found.code.count("check(") == 1
    compile(found.code, exercise, "exec")
