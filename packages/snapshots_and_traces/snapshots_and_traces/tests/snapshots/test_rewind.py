"""A partial trace is rewound to its start, and a real one played forward again."""

import pytest

from snapshots_and_traces.snapshots.loading import load
from snapshots_and_traces.snapshots.rewind import rewind
from snapshots_and_traces.tests.support.snapshots import real, some_work

pytestmark = pytest.mark.without_torch


@pytest.mark.parametrize("expandable", [False, True])
def test_a_rewound_trace_begins_where_the_allocator_was(expandable, tmp_path):
    toy = some_work(expandable)
    total = len(toy.events)
    actions = {e["action"] for e in toy.events}
    assert len(actions & {"segment_free", "segment_unmap"}) == 1
    exact = inferred = 0
    for last in (*range(0, total, 11), total):
        start = rewind(load(toy.dump(tmp_path / "toy.pickle", last)))
        blocks, ranges = toy.states[total - last] if last else toy.held()
        live = [b for s in start.segments for b in s.blocks if b.live]
        assert [(s.address, s.total_size) for s in start.segments] == ranges
        assert [(b.address, b.requested_size, b.state) for b in live] == [
            (address, asked, state) for address, _, asked, state in blocks
        ]
        assert all(b.size <= theirs for b, (_, theirs, _, _) in zip(live, blocks, strict=True))
        inferred += len(live)
        exact += sum(b.size == theirs for b, (_, theirs, _, _) in zip(live, blocks, strict=True))
        assert start.contradictions == 0
        assert start.partial == bool(ranges)
        for segment in start.segments:
            assert [b.end for b in segment.blocks][:-1] == [b.address for b in segment.blocks[1:]]
            assert segment.blocks[0].address == segment.address
            assert segment.blocks[-1].end == segment.end
    assert exact > 0.995 * inferred


def test_a_trace_says_whether_it_begins_in_the_middle(tmp_path):
    toy = some_work()
    assert str(rewind(load(toy.dump(tmp_path / "a.pickle")))).startswith("The trace is complete")
    part = str(rewind(load(toy.dump(tmp_path / "b.pickle", last=50))))
    assert "begins in the middle" in part and "worked out backwards" in part


@real
def test_a_real_trace_played_forward_from_its_start_ends_as_the_file_says(file):
    snapshot = load(file)
    start = rewind(snapshot)
    live = {b.address: b.requested_size for s in start.segments for b in s.blocks if b.live}
    held = {s.address: s.total_size for s in start.segments}
    for event in snapshot.trace().events():
        if event.action == "alloc":
            assert event.addr not in live
            live[event.addr] = event.size
        elif event.action == "free_completed":
            assert live.pop(event.addr) == event.size
        elif event.action == "segment_alloc":
            held[event.addr] = event.size
        elif event.action == "segment_free":
            assert held.pop(event.addr) == event.size
    final = snapshot.segments()
    assert live == {b.address: b.requested_size for s in final for b in s.blocks if b.live}
    assert held == {s.address: s.total_size for s in final}
    assert start.contradictions == 0
