"""What a reader's allocator is told: how far it gets where caches grow, and on a real GPU."""

import pytest

from course_utils.chapters.memory_snapshots.scores import all_right, scored
from course_utils.lesson.exercises import Wrong
from tests.chapters.memory_snapshots import wrong_answers as wrong
from tests.chapters.memory_snapshots.right_answers import sorts_the_list_it_got


def test_a_right_answer_is_at_every_address_of_the_real_gpu():
    assert "all 25 requests that a real GPU answered" in all_right(
        find_and_split=sorts_the_list_it_got
    )


def test_a_wrong_answer_hears_how_many_requests_it_answers_as_a_gpu_did():
    said = scored(free_and_merge=wrong.no_coalescing)
    assert said.startswith("Your allocator answers ") and " of 25 at a real GPU's" in said
    with pytest.raises(Wrong, match=r"^15 of 25 requests at a real GPU's addresses"):
        all_right(free_and_merge=wrong.no_coalescing)
    with pytest.raises(Wrong, match="on a real GPU's published snapshots: find_and_split gives"):
        all_right(find_and_split=lambda free, size: (5, size))
    assert "doesn't get through" in scored(sizes=wrong.only_the_block)
