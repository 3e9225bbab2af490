"""Files that no torch writes, or only an old one: opened or refused at once, and never absurd."""

import pickle
import random
import tracemalloc
from itertools import pairwise

import pytest

from course_utils.memory.views.pictures import MemoryTimeline, SegmentsMap
from snapshots_and_traces.allocator.settings import Settings
from snapshots_and_traces.replay.recorded import is_repeated, recorded_trace
from snapshots_and_traces.replay.what_if import program_of, run
from snapshots_and_traces.snapshot_viewer.memory_map import map_at
from snapshots_and_traces.snapshots.lives import history
from snapshots_and_traces.snapshots.loading import loads
from snapshots_and_traces.snapshots.safe_pickle import SnapshotError

pytestmark = pytest.mark.without_torch

MIB, TIB = 2**20, 2**40


def event(action, addr, size):
    return {"action": action, "addr": addr, "size": size, "stream": 0}


def segment(address, size, live=(), **more):
    """With blocks of 512 bytes at these places."""
    edges = [address, *(edge for at in live for edge in (at, at + 512)), address + size]
    blocks = [
        {"address": a, "size": b - a, "state": "active_allocated" if a in live else "inactive"}
        for a, b in pairwise(edges)
        if b > a
    ]
    kind = {"segment_type": "large", "stream": 0, "device": 0}
    return {"address": address, "total_size": size, "blocks": blocks, **kind, **more}


def opened(events, segments=(), **more):
    content = {"segments": list(segments), "device_traces": [events], **more}
    return loads(pickle.dumps(content), "odd.pickle")


def shown(snapshot):
    """Everything that a reader could ask for; the map of segments at the peak."""
    found, trace = history(snapshot), recorded_trace(snapshot)
    MemoryTimeline(found)
    run(program_of(trace))
    if not trace.start.partial:
        is_repeated(snapshot)
    SegmentsMap(found)
    return map_at(found, found.peak)


HUGE = {
    "unmapping 32 TiB": ([event("segment_unmap", 0, 32 * TIB)], ()),
    "an expandable segment of 16 TiB": ([], [segment(0, 16 * TIB, is_expandable=True)]),
    "mapping 2^62 bytes": ([event("segment_map", 0, 2**62)], ()),
    "a block of 9 TiB": ([event("alloc", 0, 9 * TIB)], ()),
}


@pytest.mark.parametrize("what", HUGE)
def test_more_memory_than_any_gpu_has_is_refused(what):
    with pytest.raises(SnapshotError, match=r"TiB in one piece, and no GPU has that: dump it"):
        opened(*HUGE[what])


def test_terabytes_that_come_and_go_take_no_room_and_a_failed_request_may_be_of_any_size():
    events = [event("segment_map", n * TIB, 7 * TIB) for n in range(0, 70, 7)]
    events += [event("segment_unmap", n * TIB, TIB) for n in range(70)]
    events += [{**event("oom", 0, 2**60), "device_free": 3}]
    tracemalloc.start()
    try:
        reserved = history(odd := opened(events)).reserved
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 100 * MIB and reserved.max() == 70 * TIB
    shown(odd)
    assert odd.trace().event(80).size == 2**60


NONSENSE = {
    "max_split_size": "128",
    "expandable_segments": "yes",
    "roundup_power2_divisions": {"1": "x", "2": None},
    "PYTORCH_CUDA_ALLOC_CONF": "large_segment_size_mb:0,max_non_split_rounding_mb:0",
}


def test_settings_that_make_no_sense_are_torchs_own_and_blocks_without_a_segment_on_no_map():
    assert Settings.of_snapshot(NONSENSE) == Settings()
    events = [event("alloc", 2**30, 5000), event("alloc", 2**31, 5000)]
    found = shown(opened(events, allocator_settings=NONSENSE))
    assert found.reserved == 0 and sum(found.bytes_by_kind.values()) == 0


@pytest.mark.parametrize("seed", range(12))
def test_a_trace_that_contradicts_itself_shows_no_absurd_number(seed):
    choose = random.Random(seed)
    actions = ("alloc", "free", "free_completed", "segment_alloc", "segment_free", "segment_map",
               "segment_unmap")  # fmt: skip

    def place():
        return choose.choice((0, TIB, 2**47)) + choose.randrange(12) * 2 * MIB

    events = [
        event(choose.choice(actions), place(), choose.choice((0, 512, 2 * MIB, 30 * MIB, 5 * TIB)))
        for _ in range(60)
    ]
    ends = [segment(place(), 20 * MIB, is_expandable=choose.random() < 0.5) for _ in range(4)]
    odd = opened(events, ends)
    shown(odd)
    of = history(odd)
    for moment in range(61):
        found = map_at(of, moment)
        assert (found.high >= found.low).all() and found.largest_free >= 0
        assert min(found.bytes_by_kind.values()) >= 0
        assert found.reserved <= of.reserved[moment]
