"""What a wrong answer to chapter 04's exercises is told."""

import torch

from course_utils.chapters.compile_and_graphs.exercises import broken
from course_utils.chapters.compile_and_graphs.fresh_compiles import quietly
from course_utils.lesson.exercises import grade
from tests.chapters.compile_and_graphs import wrong_answers


def test_the_function_of_the_exercise_breaks_three_times_on_either_branch():
    with quietly():
        for x in (torch.ones(5), -torch.ones(2, 3), torch.zeros(4)):
            found = torch._dynamo.explain(broken)(x)
            assert (found.graph_count, found.graph_break_count) == (4, 3)
            lines = [reason.user_stack[-1].line for reason in found.break_reasons]
            assert ["if" in lines[0], "item" in lines[1], "y[y > 0]" in lines[2]] == [True] * 3


def test_a_slip_that_python_would_see_is_told_in_pythons_words():
    message = grade("compile.one_graph", wrong_answers.raises_in_python).message
    assert "AttributeError: 'Tensor' object has no attribute 'sume'" in message


def test_other_numbers_are_told_with_the_input_that_shows_them():
    message = grade("compile.one_graph", wrong_answers.forgets_the_border).message
    assert "whose tanh sums to 0: want 1, got 0" in message
