"""The allocator with torch's settings: rounding, oversize blocks, a limit."""

import pytest

from snapshots_and_traces.allocator.rules import Driver, MiB
from snapshots_and_traces.allocator.settings import Settings
from snapshots_and_traces.allocator.tuned import TunedAllocator

pytestmark = pytest.mark.without_torch


def test_divisions_round_up_to_parts_of_a_power_of_two():
    allocator = TunedAllocator(settings=Settings.parse("roundup_power2_divisions:4"))
    # 1200 with 4 divisions is the example in torch's own comment; below 4 · 512 it is left out.
    assert [allocator.round(n) for n in (1200, 2048, 2049, 2600, 4096, 5000)] == [
        1536, 2048, 2560, 3072, 4096, 5120,
    ]  # fmt: skip
    by_interval = TunedAllocator(settings=Settings.parse("roundup_power2_divisions:[2:4,>:2]"))
    assert by_interval.round(1200 * 2**10) == 1280 * 2**10
    assert by_interval.round(5 * MiB) == 6 * MiB


def test_oversize_blocks_stay_whole_and_serve_only_close_fits():
    allocator = TunedAllocator(settings=Settings.parse("max_split_size_mb:32"))
    allocator.free(allocator.malloc(100 * MiB))
    allocator.malloc(20 * MiB)
    assert allocator.reserved == 120 * MiB
    allocator.malloc(80 * MiB)
    assert allocator.reserved == 200 * MiB
    assert allocator.malloc(81 * MiB).size == 100 * MiB
    allocator.malloc(40 * MiB)
    assert allocator.reserved == 240 * MiB


def test_a_refused_request_returns_one_oversize_block_before_the_rest():
    allocator = TunedAllocator(Driver(200 * MiB), Settings.parse("max_split_size_mb:32"))
    blocks = [allocator.malloc(n * MiB) for n in (12, 50, 60, 70)]
    for block in blocks:
        allocator.free(block)
    allocator.malloc(30 * MiB)
    assert [size // MiB for name, _, size in allocator.driver.calls if name == "segment_free"] == [
        50
    ]
