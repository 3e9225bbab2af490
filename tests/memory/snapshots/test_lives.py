"""Lives of allocations: live and reserved bytes, at every moment."""

import numpy as np
import pytest

from course_utils.memory.snapshots.lives import history
from course_utils.memory.snapshots.snapshot import load
from tests.support.memory_views import opened, state_of
from tests.support.snapshots import MIB, real
from tests.support.toy_allocator import ToyAllocator

pytestmark = pytest.mark.without_torch


def test_live_and_reserved_bytes_are_the_allocators_at_every_moment(worked):
    toy, seen = worked
    states = [state_of(toy, moment) for moment in range(501)]
    assert seen.live.tolist() == [sum(b[2] for b in blocks) for blocks, _ in states]
    assert seen.reserved.tolist() == [sum(n for _, n in ranges) for _, ranges in states]
    assert seen.live[seen.peak] == seen.live.max()


@real
def test_a_real_history_is_the_running_sum_of_its_events(file):
    if file is None:
        pytest.skip("the folder ../shared/snapshots isn't here")
    snapshot = load(file)
    seen, live, at = history(snapshot), 0, []
    for event in snapshot.trace().events():
        live += {"alloc": event.size, "free_completed": -event.size}.get(event.action, 0)
        at.append(live)
    np.testing.assert_array_equal(seen.live[1:] - seen.live[0], at)
    assert seen.reserved[-1] == sum(s.total_size for s in snapshot.segments())
    assert seen.live[-1] == sum(s.requested_size for s in snapshot.segments())
    assert (seen.live <= seen.reserved).all()


def test_what_was_there_before_the_trace_is_no_leak_of_it(tmp_path):
    toy = ToyAllocator()
    toy.alloc(50 * MIB, "main")
    toy.alloc(3 * MIB, "main", "update")
    seen = opened(toy, tmp_path, last=1)
    lives = seen.allocations
    assert ((lives.death >= seen.moments) & (lives.event >= 0)).sum() == 1
    assert seen.live.tolist() == [50 * MIB, 53 * MIB]
    assert seen.bytes_of_sites(0) == {"main, main.py:10": 50 * MIB}
