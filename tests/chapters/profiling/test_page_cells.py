"""The dataset whose fault the page finds."""

from course_utils.chapters.profiling import SumsFile, sums_file
from course_utils.workloads.addition import Addition


def test_a_sample_of_the_text_file_is_the_addition_that_it_was_written_from():
    train, found = Addition().train, SumsFile(sums_file())
    assert len(found) == 2 * len(train)
    assert all((found[n] == train[n]).all() for n in (0, 1, 7, len(train) - 1))
