"""The dataset whose fault the page finds, and how a text is printed."""

from course_utils.chapters.profiling import SumsFile, as_printed, sums_file
from course_utils.workloads.addition import Addition


def test_a_sample_of_the_text_file_is_the_addition_that_it_was_written_from():
    train, found = Addition().train, SumsFile(sums_file())
    assert len(found) == 2 * len(train)
    assert all((found[n] == train[n]).all() for n in (0, 1, 7, len(train) - 1))


def test_a_text_is_printed_with_its_spaces():
    text = "First\n  1\nSecond"
    assert as_printed(text).data == f"```\n{text}\n```"
