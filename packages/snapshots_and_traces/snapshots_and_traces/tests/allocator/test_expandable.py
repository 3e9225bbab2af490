"""Expandable segments: where blocks are, and which pages are mapped and unmapped, in order."""

import pytest

from snapshots_and_traces.allocator.expandable import ExpandableAllocator
from snapshots_and_traces.allocator.rules import Driver, MiB, OutOfMemory
from snapshots_and_traces.allocator.settings import Settings

pytestmark = pytest.mark.without_torch

ON = Settings(expandable_segments=True)


@pytest.fixture
def allocator():
    return ExpandableAllocator(settings=ON)


def calls(allocator):
    """What the driver was asked: name, MiB from the start of the address range, MiB."""
    base = allocator.driver.calls[0][1]
    return [
        (name[8:], (at - base) // MiB, size // MiB) for name, at, size in allocator.driver.calls
    ]


def test_pages_of_2_mib_are_mapped_for_small_requests_and_of_20_behind_the_free_rest(allocator):
    allocator.malloc(1000)
    assert allocator.reserved == 2 * MiB
    first, second = allocator.malloc(15 * MiB), allocator.malloc(12 * MiB)
    assert second.address == first.address + 15 * MiB
    assert [size for _, _, size in calls(allocator)] == [2, 20, 20]


def test_a_rest_of_512_bytes_is_kept_in_the_large_pool_too(allocator):
    allocator.malloc(20 * MiB - 512)
    assert allocator.malloc(512 + 2 * MiB).address == 2**40 + 20 * MiB - 512


def test_the_block_that_can_grow_is_used_last(allocator):
    first, last = allocator.malloc(8 * MiB), allocator.malloc(12 * MiB)
    allocator.malloc(14 * MiB)
    assert allocator.reserved == 40 * MiB
    allocator.free(first)
    # 6 MiB at the end fit better than 8 at the front, but the end can still grow.
    assert allocator.malloc(5 * MiB).address == first.address
    assert last.state == "used"


def test_releasing_unmaps_whole_pages_and_gives_an_empty_range_up(allocator):
    blocks = [allocator.malloc(n * MiB) for n in (5, 70, 5)]
    allocator.free(blocks[1])
    allocator.empty_cache()
    assert calls(allocator)[-1] == ("unmap", 20, 40)
    assert allocator.reserved == 40 * MiB
    # What was unmapped in the middle is filled before anything behind it.
    filled = allocator.malloc(30 * MiB)
    assert filled.address == 2**40 + 5 * MiB
    assert calls(allocator)[-1] == ("map", 20, 20)
    for block in (blocks[0], blocks[2], filled):
        allocator.free(block)
    allocator.empty_cache()
    assert allocator.reserved == 0
    assert allocator.malloc(30 * MiB).address != blocks[0].address


def test_a_full_device_gives_the_pages_of_one_stream_to_another():
    allocator = ExpandableAllocator(Driver(100 * MiB), ON)
    block = allocator.malloc(70 * MiB, stream=1)
    with pytest.raises(OutOfMemory):
        allocator.malloc(70 * MiB, stream=2)
    allocator.free(block)
    allocator.malloc(70 * MiB, stream=2)
    assert allocator.reserved == 80 * MiB
