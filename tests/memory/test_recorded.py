"""Recorded traces replayed: the real ones exactly, and made-up ones of every kind."""

import pickle
import random
import time
from collections import Counter

import pytest

from course_utils.core import files
from course_utils.memory.allocator.rules import MiB, OutOfMemory
from course_utils.memory.recorded import is_repeated, recorded_trace
from course_utils.memory.snapshots.recorder import Recorder
from course_utils.memory.snapshots.snapshot import load
from tests.support.broken_rules import BROKEN, NoLargeBuffer, WorstFit
from tests.support.random_program import recorded_run
from tests.support.replay import RecordedDriver, replay

pytestmark = pytest.mark.without_torch

FOLDER = files.ROOT.parent / "shared" / "snapshots"
REAL = sorted(FOLDER.glob("*.pickle"))
real = pytest.mark.parametrize("file", REAL or [None], ids=lambda path: path and path.stem)
needs_files = pytest.mark.skipif(not REAL, reason="no real snapshots beside this project")
KINDS = ("", "expandable_segments:True", "roundup_power2_divisions:8", "max_split_size_mb:32")


def read(content, tmp_path):
    """What is in the file after torch's own format and the course's own reader."""
    path = tmp_path / "made.pickle"
    path.write_bytes(pickle.dumps(content))
    return load(path)


def seen(recorder, tmp_path):
    return read(recorder.snapshot(), tmp_path)


@needs_files
@real
def test_every_decision_size_and_address_of_a_real_trace_is_found(file):
    snapshot = load(file)
    found = replay(recorded_trace(snapshot))
    actions = Counter(event.action for event in snapshot.trace().events())
    assert found.exact and not found.first_difference
    assert found.same_address == found.allocs == actions["alloc"]
    assert found.segment_allocs == (actions["segment_alloc"],) * 3
    assert found.segment_frees == (actions["segment_free"],) * 3
    assert found.odd == 0 and not found.unknown
    assert recorded_trace(snapshot).start.partial or is_repeated(snapshot)


@needs_files
@real
def test_the_reserved_peak_is_that_of_the_final_state_and_the_recorded_calls(file):
    snapshot = load(file)
    steps = [
        event.size * (1 if event.action == "segment_alloc" else -1)
        for event in snapshot.trace().events()
        if event.action in ("segment_alloc", "segment_free")
    ]
    held = peak = sum(s.total_size for s in snapshot.segments()) - sum(steps)
    for step in steps:
        held += step
        peak = max(peak, held)
    assert replay(recorded_trace(snapshot)).peak_reserved == (peak, peak)


@needs_files
@pytest.mark.parametrize("rule", BROKEN)
def test_on_a_real_trace_a_broken_rule_is_never_exact_where_an_address_differs(rule):
    inexact = 0
    for file in REAL:
        found = replay(recorded_trace(load(file)), BROKEN[rule](RecordedDriver()))
        assert found.exact <= (found.same_address == found.allocs)
        inexact += not found.exact
    assert inexact >= 3


@pytest.mark.parametrize("rule", BROKEN)
def test_each_broken_rule_is_seen_on_a_made_up_run(rule, tmp_path):
    made = recorded_trace(seen(recorded_run(11), tmp_path))
    assert replay(made).exact and not replay(made, BROKEN[rule](RecordedDriver())).exact


def test_an_allocator_that_differs_in_an_address_alone_is_not_exact(tmp_path):
    recorder = recorded_run(0, steps=0)
    low, _, high, _ = (recorder.malloc(n * MiB) for n in (4, 2, 3, 2))
    recorder.free(low)
    recorder.free(high)
    recorder.malloc(3 * MiB)
    found = replay(recorded_trace(seen(recorder, tmp_path)), BROKEN["first fit"](RecordedDriver()))
    assert not found.exact and found.same == found.requests and found.same_address == 4


@pytest.mark.parametrize("text", KINDS[:3])
def test_a_page_can_tell_that_a_run_from_an_empty_allocator_is_repeated(text, tmp_path):
    recorder = recorded_run(3, text, steps=300, capacity=2**40)
    actions = {event["action"] for event in recorder.events}
    assert actions & {"segment_unmap", "segment_free"} and "oom" not in actions
    assert is_repeated(seen(recorder, tmp_path))
    recorder.keep = 200
    with pytest.raises(ValueError, match=r"from an empty allocator.*begins in the middle"):
        is_repeated(seen(recorder, tmp_path))


@pytest.mark.parametrize(
    "rule, mebibytes", [(NoLargeBuffer, (4,)), (WorstFit, (4, 30, 12))], ids=["driver", "address"]
)
def test_another_allocators_run_is_not_repeated(rule, mebibytes, tmp_path):
    recorder = Recorder(rule())
    for size in mebibytes:
        recorder.free(recorder.malloc(size * MiB))
    assert not is_repeated(seen(recorder, tmp_path))


@pytest.mark.parametrize("text", KINDS)
@pytest.mark.parametrize("pools", [((0, 0),), ((0, 0), (0, 1))], ids=["one pool", "a graph's too"])
def test_a_whole_made_up_run_is_replayed_to_the_byte(text, pools, tmp_path):
    recorder = recorded_run(11, text, pools=pools)
    actions = Counter(event["action"] for event in recorder.events)
    assert actions["oom"] and actions["segment_unmap"] + actions["segment_free"]
    found = replay(recorded_trace(seen(recorder, tmp_path)))
    assert found.exact and found.same_address == found.allocs
    assert found.peak_reserved[0] == recorder.allocator.peak_reserved
    assert found.peak_allocated == recorder.allocator.peak_allocated


@pytest.mark.parametrize("text", KINDS[:3])
def test_a_run_whose_beginning_is_lost_is_replayed_from_its_middle(text, tmp_path):
    for seed in range(3):
        recorder = recorded_run(seed, text, steps=700)
        for keep in (len(recorder.events) * 2 // 3, len(recorder.events) // 4):
            recorder.keep = keep
            found = replay(recorded_trace(seen(recorder, tmp_path)))
            assert found.exact, found.first_difference
            assert found.odd == 0


def test_a_delayed_free_gives_the_block_back_only_when_it_is_complete(tmp_path):
    recorder = recorded_run(0, steps=0)
    first = recorder.malloc(12 * 2**20)
    recorder.request_free(first)
    second = recorder.malloc(12 * 2**20)
    recorder.complete_free(first)
    third = recorder.malloc(12 * 2**20)
    assert third.address != second.address
    found = replay(recorded_trace(seen(recorder, tmp_path)))
    assert found.exact and found.segment_allocs == (2, 2, 2)


def forget_the_past(recorder):
    """From here on, nothing that was recorded is in the file."""
    recorder.events.clear()


def test_a_block_larger_than_its_request_ends_where_the_next_one_began(tmp_path):
    recorder = recorded_run(0, steps=0)
    recorder.free(recorder.malloc(40 * MiB))
    front, middle = recorder.malloc(25 * MiB // 2), recorder.malloc(10 * MiB)
    recorder.free(front)
    snug = recorder.malloc(12 * MiB)
    assert snug.size == 25 * MiB // 2
    recorder.free(middle)
    forget_the_past(recorder)
    recorder.free(recorder.malloc(11 * MiB))
    recorder.malloc(27 * MiB + 3 * MiB // 4)
    recorder.free(snug)
    found = replay(recorded_trace(seen(recorder, tmp_path)))
    assert found.exact and found.segment_allocs == (1, 1, 1)


def expandable(capacity=float("inf")):
    return recorded_run(0, "expandable_segments:True", steps=0, capacity=capacity)


def test_an_unmapped_page_of_the_small_pool_is_known_by_its_size(tmp_path):
    recorder = expandable()
    small, large = recorder.malloc(1000), recorder.malloc(30 * MiB)
    recorder.free(small)
    recorder.free(large)
    forget_the_past(recorder)
    recorder.empty_cache()
    found = replay(recorded_trace(seen(recorder, tmp_path)))
    assert found.exact and found.segment_frees == (2, 2, 2)


def test_pages_below_all_that_was_mapped_at_the_start_are_filled_first(tmp_path):
    recorder = expandable()
    below, _ = recorder.malloc(20 * MiB), recorder.malloc(20 * MiB)
    recorder.free(below)
    recorder.empty_cache()
    forget_the_past(recorder)
    assert recorder.malloc(18 * MiB).address == below.address
    found = replay(recorded_trace(seen(recorder, tmp_path)))
    assert found.exact and found.same_address == 1


def test_pages_mapped_for_a_request_that_failed_are_given_back(tmp_path):
    recorder = expandable(60 * MiB)
    first, second = recorder.malloc(20 * MiB), recorder.malloc(20 * MiB)
    recorder.free(first)
    recorder.empty_cache()
    recorder.free(second)
    with pytest.raises(OutOfMemory):
        recorder.malloc(70 * MiB)
    assert [e["action"] for e in recorder.events[-3:]] == ["segment_map", "segment_unmap", "oom"]
    found = replay(recorded_trace(seen(recorder, tmp_path)))
    assert found.exact and found.segment_frees == (2, 2, 2)


def test_a_request_that_emptied_the_cache_does_not_search_again(tmp_path):
    text = "expandable_segments:True,max_split_size_mb:32"
    found = replay(recorded_trace(seen(recorded_run(1, text), tmp_path)))
    assert found.exact


def test_a_file_without_pools_takes_them_from_its_segments(tmp_path):
    recorder = recorded_run(4, pools=((0, 0), (0, 1)))
    raw = recorder.snapshot()
    for event in raw["device_traces"][0]:
        del event["pool_id"]
    found = replay(recorded_trace(read(raw, tmp_path)))
    assert found.same > 0.95 * found.requests


def test_a_file_without_settings_shows_that_its_allocator_maps_pages(tmp_path):
    raw = recorded_run(4, "expandable_segments:True", steps=300, capacity=2**40).snapshot()
    del raw["allocator_settings"]
    assert is_repeated(read(raw, tmp_path))


def event(action, addr, size):
    return {"action": action, "addr": addr, "size": size, "stream": 0}


def test_unknown_empty_and_contradicting_events_cost_nothing_else(tmp_path):
    events = [
        event("segment_alloc", 2**30, 20 * MiB),
        event("alloc", 2**30, 5_000_000),
        event("user_defined", 1, 2),
        event("free_completed", 77, 512),
        event("alloc", 2**31, 0),
        event("alloc", 2**30, 6_000_000),
        event("free", 2**30, 6_000_000),
    ]
    raw = {"segments": [], "device_traces": [events]}
    found = replay(recorded_trace(read(raw, tmp_path)))
    assert found.events == 6 and found.unknown == {"user_defined": 1} and found.odd > 0
    assert found.segment_allocs[2] == 1


def test_damaged_traces_are_replayed_without_an_exception(tmp_path):
    raw = recorded_run(8, "expandable_segments:True", steps=400).snapshot()
    choose = random.Random(3)
    for _ in range(40):
        events = list(raw["device_traces"][0])
        for _ in range(10):
            i = choose.randrange(len(events))
            change = choose.choice(("drop", "twice", "move"))
            if change == "drop":
                del events[i]
            elif change == "twice":
                events.insert(i, events[i])
            else:
                events[i] = events[i] | {"addr": events[choose.randrange(len(events))]["addr"]}
        snapshot = read(raw | {"device_traces": [events]}, tmp_path)
        assert replay(recorded_trace(snapshot)).events == len(events)


@needs_files
def test_a_trace_of_twenty_thousand_events_is_replayed_within_a_second():
    trace = recorded_trace(load(FOLDER / "allocator_growth.pickle"))
    start = time.perf_counter()
    replay(trace)
    assert time.perf_counter() - start < 1
