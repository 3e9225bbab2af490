"""Allocations in words: their size, their life, who asked."""

import pytest

from course_utils.memory.views.words import allocation_lines
from tests.support.memory_views import opened
from tests.support.snapshots import MIB
from tests.support.toy_allocator import ToyAllocator

pytestmark = pytest.mark.without_torch


def test_an_allocation_says_from_when_to_when_it_lived_and_who_asked(tmp_path):
    toy = ToyAllocator()
    toy.free(toy.alloc(50 * MIB, "main", "forward"))
    toy.alloc(3 * MIB, "main", "update")
    seen = opened(toy, tmp_path)
    lines = {allocation_lines(seen, place)[0] for place in range(len(seen.allocations))}
    assert "50.0 MiB (52,428,800 B), from event 2 to event 4, 0.020 ms" in lines
    assert any(line.startswith("3.00 MiB") and line.endswith("never freed") for line in lines)
