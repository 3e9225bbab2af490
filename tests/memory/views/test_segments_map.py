"""The map of segments: every byte is in it, at every moment."""

import random

import numpy as np
import pytest

from course_utils.memory.views.memory_map import MemoryMap
from course_utils.memory.views.segments_map import SegmentsMap
from tests.support.memory_views import asked, state_of

pytestmark = pytest.mark.without_torch


@pytest.mark.parametrize("seed", range(3))
def test_the_map_has_every_byte_and_the_largest_gap(worked, seed):
    toy, seen = worked
    layout = MemoryMap(seen, rows=7, cells=31)
    for moment in random.Random(seed).sample(range(501), 20):
        blocks, ranges = state_of(toy, moment)
        shown, gaps, whole = layout.at(moment), [0], 0
        for start, size in ranges:
            inside = [(a, n) for a, n, _, _ in blocks if start <= a < start + size]
            edges = [start, *(x for a, n in inside for x in (a, a + n)), start + size]
            gaps += [b - a for a, b in zip(edges[::2], edges[1::2], strict=True)]
            whole += 0 if inside or toy.expandable else size
        assert shown.reserved == sum(size for _, size in ranges)
        handed_out, _, could_go = shown.bytes_by_kind.values()
        assert handed_out == sum(n for _, n, _, _ in blocks)
        assert toy.expandable or could_go == whole
        assert shown.largest_free == max(gaps)
        assert len(shown.segments) == len(ranges)


def test_pointing_at_the_map_finds_what_lies_there(worked):
    _, seen = worked
    layout = MemoryMap(seen)
    for allocation in seen.allocations.at(seen.peak)[::5].tolist():
        address = seen.allocations.address[allocation] + seen.block_sizes[allocation] // 2
        cell = int(layout.place(np.array([address]))[0] / layout.cell_bytes - 0.5 + 0.5)
        segment, found = layout.find(seen.peak, cell)
        assert segment >= 0
        assert found == allocation or seen.block_sizes[allocation] < 2 * layout.cell_bytes


def test_the_slider_of_the_map_shows_each_moment(worked):
    toy, seen = worked
    shown = SegmentsMap(seen)
    for count, moment in enumerate((0, 250, 500), 1):
        state = asked(shown, "go", moment, count)
        reserved = sum(size for _, size in state_of(toy, moment)[1])
        assert state["moment"] == moment and shown.shown.reserved == reserved
        rows, cells = shown.layout_of.shape
        assert len(shown.data) == 4 * (rows * cells + len(shown.shown.segments))
    assert "moments run from 0 to 500" in asked(shown, "go", 501, 9)["problem"]
