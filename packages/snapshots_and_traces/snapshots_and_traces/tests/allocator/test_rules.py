"""Each rule of the caching allocator, by what it hands out and what it asks of the driver."""

from itertools import pairwise

import pytest

from snapshots_and_traces.allocator.expandable import UNMAPPED
from snapshots_and_traces.allocator.rules import CachingAllocator, Driver, MiB, OutOfMemory
from snapshots_and_traces.tests.support.random_program import recorded_run

pytestmark = pytest.mark.without_torch


@pytest.mark.parametrize(
    "request_bytes, block, segment",
    [
        (1, 512, 2 * MiB),
        (512, 512, 2 * MiB),
        (513, 1024, 2 * MiB),
        (MiB, MiB, 2 * MiB),
        (MiB + 1, MiB + 512, 20 * MiB),
        (10 * MiB - 512, 10 * MiB - 512, 20 * MiB),
        (10 * MiB - 1, 10 * MiB, 10 * MiB),
        (10 * MiB + 1, 10 * MiB + 512, 12 * MiB),
    ],
)
def test_a_request_is_rounded_and_a_miss_asks_for_a_segment(request_bytes, block, segment):
    allocator = CachingAllocator()
    allocator.malloc(request_bytes)
    assert allocator.round(request_bytes) == block
    assert allocator.reserved == segment


def test_equal_blocks_come_lowest_first_and_a_better_fit_before_a_lower_one():
    allocator = CachingAllocator()
    blocks = [allocator.malloc(size) for size in (4096, 512, 2048, 512, 2048, 512)]
    for block in blocks[::2]:
        allocator.free(block)
    for place in (2, 4, 0):
        assert allocator.malloc(2000).address == blocks[place].address


def test_streams_pool_sizes_and_graphs_never_share():
    allocator = CachingAllocator()
    allocator.free(allocator.malloc(12 * MiB))
    for size, stream, graph in ((12 * MiB, 1, (0, 0)), (12 * MiB, 0, (0, 1)), (1000, 0, (0, 0))):
        before = allocator.reserved
        allocator.malloc(size, stream, graph)
        assert allocator.reserved > before


@pytest.mark.parametrize(
    "size, taken",
    [
        (2 * MiB, 2 * MiB),
        (19 * MiB - 512, 19 * MiB - 512),
        (19 * MiB, 20 * MiB),
        (20 * MiB - 512, 20 * MiB),
    ],
)
def test_the_large_pool_keeps_a_rest_of_more_than_one_mib_and_the_small_pool_every(size, taken):
    allocator = CachingAllocator()
    allocator.free(allocator.malloc(20 * MiB))
    assert allocator.malloc(size).size == taken
    assert [allocator.malloc(n).size for n in (MiB - 512, MiB, 512)] == [MiB - 512, MiB, 512]
    assert allocator.reserved == 22 * MiB


@pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1), (1, 0, 2), (2, 1, 0)])
def test_freed_neighbours_become_one_block_whatever_the_order(order):
    allocator = CachingAllocator()
    blocks = [allocator.malloc(2 * MiB) for _ in range(3)]
    for i in order:
        allocator.free(blocks[i])
    assert allocator.malloc(20 * MiB).address == 2**40
    assert allocator.reserved == 20 * MiB


def test_empty_cache_returns_whole_segments_large_before_small():
    allocator = CachingAllocator()
    kept, small, large = (allocator.malloc(n) for n in (3 * MiB, 1000, 30 * MiB))
    graph = allocator.malloc(12 * MiB, graph=(0, 1))
    for block in (small, large, graph):
        allocator.free(block)
    allocator.empty_cache()
    frees = [(name, size) for name, _, size in allocator.driver.calls if name == "segment_free"]
    assert frees == [("segment_free", 30 * MiB), ("segment_free", 2 * MiB)]
    assert allocator.reserved == 32 * MiB and allocator.allocated == kept.size
    allocator.empty_cache((0, 1))
    assert allocator.reserved == 20 * MiB


def test_a_refused_request_empties_the_cache_before_it_gives_up():
    allocator = CachingAllocator(Driver(100 * MiB))
    allocator.free(allocator.malloc(60 * MiB))
    held = allocator.malloc(62 * MiB)
    assert allocator.reserved == 62 * MiB
    said = r"41943040 bytes wanted of the driver, 39845888 are free"
    with pytest.raises(OutOfMemory, match=said):
        allocator.malloc(40 * MiB)
    allocator.free(held)
    allocator.malloc(40 * MiB)
    assert allocator.peak_reserved == 62 * MiB


def test_a_block_freed_twice_and_an_empty_request_are_errors():
    allocator = CachingAllocator()
    block = allocator.malloc(1000)
    allocator.free(block)
    with pytest.raises(ValueError, match="freed twice"):
        allocator.free(block)
    with pytest.raises(ValueError, match="at least 1 byte"):
        allocator.malloc(0)


@pytest.mark.parametrize("text", ["", "expandable_segments:True", "max_split_size_mb:32"])
def test_after_any_program_blocks_tile_their_segments_and_sums_agree(text):
    recorder = recorded_run(5, text)
    segments, allocator = recorder.snapshot()["segments"], recorder.allocator
    assert sum(s["total_size"] for s in segments) == allocator.reserved == allocator.driver.used
    assert sum(s["active_size"] for s in segments) == allocator.allocated
    for segment in segments:
        at = segment["address"]
        states = [block["state"] for block in segment["blocks"]]
        assert ("inactive", "inactive") not in pairwise(states)
        for block in segment["blocks"]:
            assert block["address"] == at
            at += block["size"]
    for pool in allocator.pools.values():
        assert all(block.state != UNMAPPED for _, _, block in pool.blocks)
