"""What a loop that compiles too often is told."""

import re

import pytest

from course_utils.lesson.exercises import grade
from tests.chapters.compile_and_graphs import wrong_answers


@pytest.mark.parametrize(
    "answer, said, unsaid",
    [
        ("slow_loop", "want at most 4: which arguments change", None),
        ("steadies_what_is_steady", r"^compiled 8 times .* then gave up for the last", None),
        ("gives_up_at_once", "calls ran without what was compiled", None),
        ("compiles_nothing", "calls ran without what was compiled", None),
        ("a_weight_that_is_none", "^your code raised TypeError: unsupported operand", "\n"),
    ],
)
def test_a_loop_that_is_not_steady_is_told_what_changes_or_went_wrong(answer, said, unsaid):
    message = grade("compile.steady_loop", getattr(wrong_answers, answer)).message
    assert re.search(said, message) and (unsaid is None or unsaid not in message)
