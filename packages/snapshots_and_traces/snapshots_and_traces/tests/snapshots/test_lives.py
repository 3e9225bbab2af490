"""Lives of allocations: live and reserved bytes and the size of each block, at every moment."""

import numpy as np
import pytest

from snapshots_and_traces.snapshots.lives import history
from snapshots_and_traces.snapshots.loading import load
from snapshots_and_traces.tests.support import snapshot_pages as made
from snapshots_and_traces.tests.support.snapshots import MIB, opened, real, state_of
from snapshots_and_traces.tests.support.toy_allocator import ToyAllocator

pytestmark = pytest.mark.without_torch


def sizes_at(seen, moment):
    alive = seen.allocations.at(moment)
    return {int(seen.allocations.address[i]): int(seen.block_sizes[i]) for i in alive}


def test_live_and_reserved_bytes_and_blocks_are_the_allocators_at_every_moment(worked):
    toy, seen = worked
    states = [state_of(toy, moment) for moment in range(501)]
    assert seen.live.tolist() == [sum(b[2] for b in blocks) for blocks, _ in states]
    assert seen.reserved.tolist() == [sum(n for _, n in ranges) for _, ranges in states]
    assert seen.live[seen.peak] == seen.live.max()
    for moment in range(0, 501, 10):
        blocks, _ = states[moment]
        assert sizes_at(seen, moment) == {address: size for address, size, _, _ in blocks}


@real
def test_a_real_history_is_the_running_sum_of_its_events_and_ends_with_its_files_blocks(file):
    snapshot = load(file)
    seen, live, at = history(snapshot), 0, []
    for event in snapshot.trace().events():
        live += {"alloc": event.size, "free_completed": -event.size}.get(event.action, 0)
        at.append(live)
    np.testing.assert_array_equal(seen.live[1:] - seen.live[0], at)
    assert seen.reserved[-1] == sum(s.total_size for s in snapshot.segments())
    assert seen.live[-1] == sum(s.requested_size for s in snapshot.segments())
    assert (seen.live <= seen.reserved).all()
    blocks = [b for s in snapshot.segments() for b in s.blocks if b.live]
    assert sizes_at(seen, len(seen.trace)) == {b.address: b.size for b in blocks}


def test_what_was_there_before_the_trace_is_no_leak_of_it(tmp_path):
    toy = ToyAllocator()
    toy.alloc(50 * MIB, "main")
    toy.alloc(3 * MIB, "main", "update")
    seen = opened(toy, tmp_path, last=1)
    lives = seen.allocations
    assert ((lives.death >= seen.moments) & (lives.event >= 0)).sum() == 1
    assert seen.live.tolist() == [50 * MIB, 53 * MIB]
    assert seen.bytes_of_sites(0) == {"main, main.py:10": 50 * MIB}


def test_what_isnt_split_off_is_handed_out_too():
    toy = ToyAllocator()
    toy.alloc(19 * MIB, "main")  # of a segment of 20 MiB: the rest, 1 MiB, isn't split off
    assert history(made.read(toy)).block_sizes.tolist() == [20 * MIB]
    toy = ToyAllocator()
    toy.free(toy.alloc(100 * MIB, "main"))
    toy.alloc(60 * MIB, "main")
    content = toy.snapshot()
    for limit, size in ((-1, 60), (50 * MIB, 100), (80 * MIB, 60)):
        content["allocator_settings"] = {"max_split_size": limit}
        assert history(made.read(content)).block_sizes[-1] == size * MIB
