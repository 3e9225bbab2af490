"""Two snapshots side by side: what grew."""

import pytest

from course_utils.memory.snapshots.snapshot import load
from course_utils.memory.views.comparison import compare, draw_comparison
from tests.support.memory_views import is_drawn
from tests.support.snapshots import MIB
from tests.support.toy_allocator import ToyAllocator

pytestmark = pytest.mark.without_torch


def test_comparing_finds_the_leak(tmp_path):
    def trained(name: str, leaks: bool):
        toy = ToyAllocator()
        toy.alloc(20 * MIB, "main")
        for _ in range(6):
            kept, loss = toy.alloc(9 * MIB, "main", "forward"), toy.alloc(4 * MIB, "main", "step")
            toy.free(kept)
            if not leaks:
                toy.free(loss)
        return load(toy.dump(tmp_path / name))

    healthy, leaking = trained("healthy.pickle", False), trained("leaking.pickle", True)
    found = compare(healthy, leaking)
    (worst,) = found.grown()
    assert (worst.site, worst.end_a, worst.end_b) == ("step, step.py:11", 0, 24 * MIB)
    assert "at the end 20.0 MiB → 44.0 MiB" in str(found)
    assert "most grew step, step.py:11, by 20.0 MiB" in found._repr_html_()
    assert not compare(healthy, healthy).grown()
    assert is_drawn(draw_comparison(found, "What grew"))
