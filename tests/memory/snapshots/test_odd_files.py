"""Files that no torch writes, or only an old one: opened or refused at once, and never absurd."""

import pickle
import random
import time
import tracemalloc
from itertools import pairwise

import pytest

from course_utils.memory.allocator.settings import Settings
from course_utils.memory.recorded import is_repeated, recorded_trace
from course_utils.memory.snapshots import lives
from course_utils.memory.snapshots.lives import history
from course_utils.memory.snapshots.safe_pickle import without_collector
from course_utils.memory.snapshots.snapshot import SnapshotError, loads
from course_utils.memory.views.memory_map import MemoryMap
from course_utils.memory.views.peak_icicle import PeakIcicle
from course_utils.memory.views.segments_map import SegmentsMap
from course_utils.memory.views.timeline import MemoryTimeline
from course_utils.memory.what_if import program_of, run
from tests.support.replay import replay

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
    """Everything that a reader could ask for; what the map of segments says."""
    found, trace = history(snapshot), recorded_trace(snapshot)
    for widget in (MemoryTimeline, PeakIcicle):
        widget(found)
    run(program_of(trace))
    if not trace.start.contradictions:
        replay(trace)
    if not trace.start.partial:
        is_repeated(snapshot)
    return SegmentsMap(found).state


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


def test_a_request_that_failed_may_have_been_of_any_size():
    trace = opened([{**event("oom", 0, 2**60), "device_free": 3}]).trace()
    assert trace.event(0).size == 2**60


def test_terabytes_that_come_and_go_take_no_room():
    events = [event("segment_map", n * TIB, 7 * TIB) for n in range(0, 140, 7)]
    events += [event("segment_unmap", n * TIB, TIB) for n in range(140)]
    tracemalloc.start()
    start = time.process_time()
    try:
        reserved = int(history(opened(events)).reserved.max())
        shown(opened(events))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 100 * MIB and time.process_time() - start < 20
    assert reserved == 140 * TIB


def test_more_bytes_than_a_column_can_add_up_are_an_error(monkeypatch):
    monkeypatch.setattr(lives, "MOST_SUM", 23.0 * TIB)
    events = [event("alloc", n, 8 * TIB) for n in range(3)]
    with pytest.raises(ValueError, match=r"odd\.pickle hands out more bytes than can be"):
        history(opened(events))


def test_blocks_without_a_segment_are_left_out_of_the_map():
    state = shown(opened([event("alloc", 2**30, 5000), event("alloc", 2**31, 5000)]))
    assert state["reading"].startswith("0 B of 0 B reserved are handed out")


def test_an_old_file_that_only_unmaps_is_played_by_an_allocator_that_maps():
    events = [event("segment_unmap", TIB, 20 * MIB), event("alloc", 2 * TIB, 512)]
    odd = opened(events, [segment(2 * TIB, 2 * MIB, [2 * TIB])])
    shown(odd)
    assert recorded_trace(odd).settings.expandable_segments


NONSENSE = {
    "max_split_size": "128",
    "garbage_collection_threshold": [0.5],
    "expandable_segments": "yes",
    "roundup_power2_divisions": {"1": "x", "2": None},
    "PYTORCH_CUDA_ALLOC_CONF": "large_segment_size_mb:0,max_non_split_rounding_mb:0",
}


def test_settings_that_make_no_sense_are_torchs_own():
    assert Settings.of_snapshot(NONSENSE) == Settings()
    shown(opened([event("segment_map", TIB, 20 * MIB)], allocator_settings=NONSENSE))


def test_a_driver_that_gives_the_same_address_twice_is_not_repeated():
    whole = [event("segment_alloc", TIB, 20 * MIB), event("alloc", TIB, 11 * MIB)]
    gone = event("free_completed", TIB, 11 * MIB)
    odd = opened([*whole, gone, *whole, gone, event("alloc", TIB, 11 * MIB)])
    shown(odd)
    assert not is_repeated(odd)


@pytest.mark.parametrize("seed", range(40))
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
    layout = MemoryMap(history(odd))
    for moment in range(61):
        cells = layout.at(moment)
        assert (cells.n_bytes >= 0).all() and cells.largest_free >= 0
        assert min(cells.bytes_by_kind.values()) >= 0 and cells.reserved <= layout.total + 1


def test_six_times_the_live_blocks_take_far_less_than_36_times_as_long():
    count = 60_000

    def seconds(live):
        order = random.Random(1).sample(range(count), count)
        events = [event("alloc", TIB + 512 * n, 512) for n in order]
        whole = segment(TIB, 512 * live, range(TIB, TIB + 512 * live, 512))
        snapshot = opened(events[: live // 2], [whole])
        with without_collector():  # it walks what other tests have left
            start = time.process_time()
            history(snapshot)
            return time.process_time() - start

    least = [min(seconds(live) for _ in range(3)) for live in (count, count // 6)]
    assert least[0] < 18 * least[1]
