"""Allocations in words: the largest, and those never freed."""

import pytest

from course_utils.memory.views.words import allocation_rows
from tests.support.memory_views import opened
from tests.support.snapshots import MIB
from tests.support.toy_allocator import ToyAllocator

pytestmark = pytest.mark.without_torch


def test_the_table_tells_the_largest_from_those_never_freed(tmp_path):
    toy = ToyAllocator()
    toy.free(toy.alloc(50 * MIB, "main", "forward"))
    toy.alloc(3 * MIB, "main", "update")
    seen = opened(toy, tmp_path)
    assert [row["size"] for row in allocation_rows(seen)] == ["50.0 MiB", "3.00 MiB"]
    assert allocation_rows(seen)[0]["lives"] == "from event 2 to event 4, 0.020 ms"
    (kept,) = allocation_rows(seen, "never freed")
    assert kept["who asked"] == "update, update.py:14" and "never freed" in kept["lives"]
    with pytest.raises(ValueError, match="largest or never freed, not 'oldest'"):
        allocation_rows(seen, "oldest")
