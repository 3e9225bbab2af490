"""Recorded traces replayed: the real ones exactly, and made-up ones of every kind."""

import pickle
from collections import Counter

import pytest

from snapshots_and_traces.allocator.rules import MiB
from snapshots_and_traces.replay.recorded import is_repeated, recorded_trace
from snapshots_and_traces.snapshots.loading import load, loads
from snapshots_and_traces.snapshots.recorder import Recorder
from snapshots_and_traces.tests.support.broken_rules import BROKEN, NoLargeBuffer, WorstFit
from snapshots_and_traces.tests.support.random_program import recorded_run
from snapshots_and_traces.tests.support.replay import RecordedDriver, replay
from snapshots_and_traces.tests.support.snapshots import real

pytestmark = pytest.mark.without_torch

KINDS = ("", "expandable_segments:True", "roundup_power2_divisions:8", "max_split_size_mb:32")


def seen(recorder):
    return loads(pickle.dumps(recorder.snapshot()), "made.pickle")


@real
def test_every_decision_size_address_and_peak_of_a_real_trace_is_found(file):
    snapshot = load(file)
    trace = recorded_trace(snapshot)
    found, actions = replay(trace), Counter(event.action for event in trace.events)
    assert found.exact, found.first_difference
    assert found.same_address == found.same == actions["alloc"]
    assert found.segment_frees == (actions["segment_free"],) * 2
    assert trace.start.partial or is_repeated(snapshot)
    steps = [
        event.size * (1 if event.action == "segment_alloc" else -1)
        for event in trace.events
        if event.action in ("segment_alloc", "segment_free")
    ]
    held = peak = sum(s.total_size for s in snapshot.segments()) - sum(steps)
    for step in steps:
        held += step
        peak = max(peak, held)
    assert found.peak_reserved == (peak, peak)


@pytest.mark.parametrize("rule", BROKEN)
def test_each_broken_rule_is_seen_on_a_made_up_run(rule):
    made = recorded_trace(seen(recorded_run(11)))
    assert replay(made).exact and not replay(made, BROKEN[rule](RecordedDriver())).exact


@pytest.mark.parametrize("text", KINDS)
@pytest.mark.parametrize("pools", [((0, 0),), ((0, 0), (0, 1))], ids=["one pool", "a graph's too"])
def test_a_page_can_tell_that_a_run_from_an_empty_allocator_is_repeated(text, pools):
    recorder = recorded_run(3, text, steps=300, pools=pools)
    assert {event["action"] for event in recorder.events} & {"segment_unmap", "segment_free"}
    assert is_repeated(seen(recorder))
    recorder.keep = 200
    with pytest.raises(ValueError, match=r"from an empty allocator.*begins in the middle"):
        is_repeated(seen(recorder))


@pytest.mark.parametrize(
    "rule, mebibytes", [(NoLargeBuffer, (4,)), (WorstFit, (4, 30, 12))], ids=["driver", "address"]
)
def test_another_allocators_run_is_not_repeated(rule, mebibytes):
    recorder = Recorder(rule())
    for size in mebibytes:
        recorder.free(recorder.malloc(size * MiB))
    assert not is_repeated(seen(recorder))


@pytest.mark.parametrize("text", ["", "roundup_power2_divisions:8"])
def test_a_run_whose_beginning_is_lost_is_replayed_from_its_middle(text):
    for seed in range(3):
        recorder = recorded_run(seed, text, steps=700)
        for keep in (len(recorder.events) * 2 // 3, len(recorder.events) // 4):
            recorder.keep = keep
            trace = recorded_trace(seen(recorder))
            found = replay(trace)
            assert trace.start.partial and found.exact, found.first_difference


def test_a_delayed_free_gives_the_block_back_only_when_it_is_complete():
    recorder = recorded_run(0, steps=0)
    first = recorder.malloc(12 * MiB)
    recorder.request_free(first)
    second = recorder.malloc(12 * MiB)
    recorder.complete_free(first)
    third = recorder.malloc(12 * MiB)
    assert third.address == first.address != second.address
    assert replay(recorded_trace(seen(recorder))).segment_allocs == (2, 2)


def test_an_old_file_without_pools_or_settings_takes_them_from_its_segments_and_events():
    recorder = recorded_run(0, steps=0)
    for pool in ((0, 0), (0, 1)) * 2:
        recorder.free(recorder.malloc(12 * MiB, 0, pool))
        recorder.malloc(3 * MiB, 0, pool)
    raw = recorder.snapshot()
    for event in raw["device_traces"][0]:
        del event["pool_id"]
    assert replay(recorded_trace(loads(pickle.dumps(raw), "old.pickle"))).exact
    raw = recorded_run(4, "expandable_segments:True", steps=300).snapshot()
    del raw["allocator_settings"]
    assert is_repeated(loads(pickle.dumps(raw), "old.pickle"))
