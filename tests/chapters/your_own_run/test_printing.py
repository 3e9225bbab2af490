"""A report in a cell, as in a terminal."""

from course_utils.chapters.your_own_run import as_printed


def test_a_text_is_printed_with_its_spaces():
    text = "First\n  1\nSecond"
    assert as_printed(text).data == f"```\n{text}\n```"
