"""Expandable segments: where blocks lie, and which pages are mapped and unmapped, in order."""

import pytest

from course_utils.memory.allocator.expandable import ExpandableAllocator
from course_utils.memory.allocator.rules import Driver, MiB, OutOfMemory
from course_utils.memory.allocator.settings import Settings

pytestmark = pytest.mark.without_torch

ON = Settings(expandable_segments=True)


def calls(allocator):
    """What the driver was asked: name, MiB from the start of the address range, MiB."""
    base = allocator.driver.calls[0][1]
    return [
        (name[8:], (at - base) // MiB, size // MiB) for name, at, size in allocator.driver.calls
    ]


def test_small_requests_map_pages_of_two_mib_and_large_ones_of_twenty():
    allocator = ExpandableAllocator(settings=ON)
    allocator.malloc(1000)
    assert allocator.reserved == 2 * MiB
    allocator.malloc(3 * MiB)
    assert allocator.reserved == 22 * MiB
    allocator.malloc(30 * MiB)
    assert allocator.reserved == 42 * MiB


def test_a_block_begins_in_the_free_rest_before_new_pages():
    allocator = ExpandableAllocator(settings=ON)
    first, second = allocator.malloc(15 * MiB), allocator.malloc(12 * MiB)
    assert second.address == first.address + 15 * MiB
    assert calls(allocator) == [("map", 0, 20), ("map", 20, 20)]


def test_a_rest_of_512_bytes_is_kept_in_the_large_pool_too():
    allocator = ExpandableAllocator(settings=ON)
    allocator.malloc(20 * MiB - 512)
    assert allocator.malloc(512 + 2 * MiB).address == 2**40 + 20 * MiB - 512


def test_the_block_that_can_grow_is_used_last():
    allocator = ExpandableAllocator(settings=ON)
    first, last = allocator.malloc(8 * MiB), allocator.malloc(12 * MiB)
    allocator.malloc(14 * MiB)
    assert allocator.reserved == 40 * MiB
    allocator.free(first)
    # 6 MiB at the end fit better than 8 at the front, but the end can still grow.
    assert allocator.malloc(5 * MiB).address == first.address
    assert last.state == "used"


def test_releasing_unmaps_whole_pages_only():
    allocator = ExpandableAllocator(settings=ON)
    blocks = [allocator.malloc(n * MiB) for n in (5, 70, 5)]
    allocator.free(blocks[1])
    allocator.empty_cache()
    assert calls(allocator)[-1] == ("unmap", 20, 40)
    assert allocator.reserved == 40 * MiB
    # What was unmapped in the middle is filled before anything behind it.
    assert allocator.malloc(30 * MiB).address == 2**40 + 5 * MiB
    assert calls(allocator)[-1] == ("map", 20, 20)


def test_an_empty_address_range_is_given_up():
    allocator = ExpandableAllocator(settings=ON)
    block = allocator.malloc(30 * MiB)
    allocator.free(block)
    allocator.empty_cache()
    assert allocator.reserved == 0
    assert allocator.malloc(30 * MiB).address != block.address


def test_a_full_device_gives_the_pages_of_one_stream_to_another():
    allocator = ExpandableAllocator(Driver(100 * MiB), ON)
    block = allocator.malloc(70 * MiB, stream=1)
    with pytest.raises(OutOfMemory):
        allocator.malloc(70 * MiB, stream=2)
    allocator.free(block)
    allocator.malloc(70 * MiB, stream=2)
    assert allocator.reserved == 80 * MiB


def test_segments_from_before_the_switch_are_used_and_new_ones_grow():
    allocator = ExpandableAllocator(settings=ON)
    allocator.expandable = False
    old = allocator.malloc(20 * MiB)
    allocator.expandable = True
    new = allocator.malloc(20 * MiB)
    allocator.free(old)
    assert allocator.malloc(4 * MiB).address == old.address
    allocator.free(new)
    allocator.expandable = False
    assert allocator.malloc(18 * MiB).place is None


def test_growing_batches_leave_slivers_in_plain_segments_and_none_in_expandable_ones():
    """The case for which torch's note [Expandable Segments] says they were made."""
    reserved = {}
    for settings in (Settings(), ON):
        allocator = ExpandableAllocator(settings=settings)
        for batch in range(8, 24):
            blocks = [allocator.malloc(batch * 3 * MiB + layer) for layer in range(8)]
            for block in blocks:
                allocator.free(block)
        reserved[settings.expandable_segments] = allocator.peak_reserved
    assert reserved[True] < 0.6 * reserved[False]
