"""The bytes of each allocation's block, which a trace doesn't say."""

import pytest

from course_utils.memory.snapshots.lives import history
from course_utils.memory.snapshots.snapshot import load
from tests.support.memory_views import opened, state_of
from tests.support.snapshots import MIB, real
from tests.support.toy_allocator import ToyAllocator

pytestmark = pytest.mark.without_torch


def sizes_at(seen, moment):
    alive = seen.allocations.at(moment)
    return {int(seen.allocations.address[i]): int(seen.block_sizes[i]) for i in alive}


@real
def test_the_blocks_of_a_real_gpu_at_the_end_of_its_trace_have_the_sizes_its_file_says(file):
    if file is None:
        pytest.skip("the folder ../shared/snapshots isn't here")
    snapshot = load(file)
    seen = history(snapshot)
    blocks = [b for s in snapshot.segments() for b in s.blocks if b.live]
    assert sizes_at(seen, len(seen.trace)) == {b.address: b.size for b in blocks}


def test_the_blocks_of_a_made_allocator_have_their_sizes_at_every_moment(worked):
    toy, seen = worked
    for moment in range(0, 501, 10):
        blocks, _ = state_of(toy, moment)
        assert sizes_at(seen, moment) == {address: size for address, size, _, _ in blocks}


def test_a_rest_of_a_large_block_that_is_too_small_to_split_off_is_handed_out_too(tmp_path):
    toy = ToyAllocator()
    toy.alloc(19 * MIB, "main")  # of a segment of 20 MiB: the rest, 1 MiB, isn't split off
    seen = opened(toy, tmp_path)
    assert list(sizes_at(seen, len(seen.trace)).values()) == [20 * MIB]
