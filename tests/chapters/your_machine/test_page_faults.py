"""New memory is counted, memory in use isn't."""

import mmap

import pytest

from course_utils.chapters.your_machine import new_pages


def test_each_page_counts_when_it_is_touched_first():
    pytest.importorskip("resource", reason="Windows doesn't count them")
    pages = 1000
    with mmap.mmap(-1, pages * mmap.PAGESIZE) as block:

        def touch() -> None:
            for page in range(pages):
                block[page * mmap.PAGESIZE] = 1

        first, second = new_pages(touch), new_pages(touch)
    assert first is not None and second is not None
    assert pages <= first < 1.1 * pages + 50 and second < 50
