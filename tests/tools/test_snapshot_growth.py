"""A job's snapshot repeated is a snapshot of that job run many times over."""

import pickle

import pytest

from course_utils.core import files
from course_utils.memory.recorded import is_repeated
from course_utils.memory.snapshots.lives import history
from course_utils.memory.snapshots.rewind import rewind
from course_utils.memory.snapshots.snapshot import Segment, loads
from tests.support.snapshots import some_work
from tools.bench.snapshot_growth import repeated

pytestmark = pytest.mark.without_torch


def held(segments: tuple[Segment, ...] | list[Segment]) -> list[object]:
    """What lies where: of each segment its blocks, with what was asked for."""
    return [
        (s.address, s.total_size, [(b.address, b.requested_size, b.state) for b in s.blocks])
        for s in segments
    ]


@pytest.mark.parametrize("expandable", [False, True])
@pytest.mark.parametrize("last", [None, 270])
def test_a_job_repeated_begins_and_ends_as_one_does_and_never_holds_more(expandable, last):
    content = some_work(expandable).snapshot(last)
    one = loads(pickle.dumps(content), "one")
    many = loads(pickle.dumps(repeated(content, 5000)), "many")
    assert len(many.trace()) >= 5000
    assert rewind(many).contradictions == 0
    assert held(rewind(many).segments) == held(rewind(one).segments)
    assert held(many.segments()) == held(one.segments())
    before, after = history(one), history(many)
    assert (after.live.max(), after.reserved.max()) == (before.live.max(), before.reserved.max())
    assert not after.live[:-1].all()  # between two jobs nothing is held


@pytest.mark.parametrize("expandable", [False, True])
def test_a_block_is_handed_out_let_go_and_freed_in_turn_across_repetitions(expandable):
    content = some_work(expandable).snapshot(270)
    many = loads(pickle.dumps(repeated(content, 2000)), "many")
    assert "active_pending_free" in {b.state for s in rewind(many).segments for b in s.blocks}
    follows = {"alloc": "free_requested", "free_requested": "free_completed"}
    latest: dict[int, str] = {}
    for event in many.trace().events():
        if event.action in (*follows, "free_completed"):
            before = latest.get(event.addr)
            assert before is None or follows.get(before, "alloc") == event.action
            latest[event.addr] = event.action


@pytest.mark.parametrize("name", ["leak", "step_fp32"])
def test_our_allocator_decides_in_each_repetition_as_in_the_first(name):
    file = files.DATA / "snapshots" / f"snapshot_{name}.pickle"
    content = pickle.loads(file.read_bytes())
    once = max(map(len, content["device_traces"]))
    assert is_repeated(loads(pickle.dumps(repeated(content, 3 * once)), "many"))
