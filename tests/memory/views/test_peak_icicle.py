"""The icicle: the peak shared out among call stacks."""

import pytest

from course_utils.memory.views.peak_icicle import PeakIcicle, tree
from tests.support.memory_views import asked, opened
from tests.support.snapshots import MIB
from tests.support.toy_allocator import ToyAllocator

pytestmark = pytest.mark.without_torch


def test_the_peak_is_shared_out_among_call_stacks_to_the_last_byte(tmp_path):
    toy = ToyAllocator()
    toy.alloc(5 * MIB, "main")
    for _ in range(4):
        toy.alloc(3 * MIB, "main", "step", "forward")
    toy.alloc(2 * MIB, "main", "step", "backward")
    root = tree(opened(toy, tmp_path))
    (main,) = root.children.values()
    (step,) = main.children.values()
    sizes = {child.name: (child.size, child.count) for child in step.children.values()}
    assert (root.size, main.size, step.size) == (19 * MIB, 19 * MIB, 14 * MIB)
    assert sizes == {
        "forward, forward.py:12": (12 * MIB, 4),
        "backward, backward.py:13": (2 * MIB, 1),
    }
    places = [(node.name, depth, left) for node, depth, left in root.walk()]
    assert places[-1] == ("backward, backward.py:13", 3, 12 * MIB)


def test_the_icicle_shows_the_moment_that_the_page_asks_for(worked):
    icicle = PeakIcicle(worked[1])
    at_peak = icicle.state["nodes"][0]["size"]
    assert asked(icicle, "go", 0)["nodes"][0]["size"] != at_peak
