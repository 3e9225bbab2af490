"""A recorded program run again: with other settings, on a smaller device."""

import pickle

import pytest

from snapshots_and_traces.allocator.rules import CachingAllocator, Driver, MiB, OutOfMemory
from snapshots_and_traces.allocator.settings import Settings
from snapshots_and_traces.replay.recorded import recorded_trace
from snapshots_and_traces.replay.what_if import Program, Step, program_of, run
from snapshots_and_traces.snapshots.loading import load, loads
from snapshots_and_traces.snapshots.recorder import Recorder
from snapshots_and_traces.tests.support.replay import replay
from snapshots_and_traces.tests.support.snapshots import asked_for, real

pytestmark = pytest.mark.without_torch


@real
def test_a_real_trace_run_again_holds_what_it_did(file):
    trace = recorded_trace(load(file))
    program = program_of(trace)
    found, recorded = run(program), replay(trace)
    assert (program.before > 0) == trace.start.partial
    if not program.before:
        assert found.peak_reserved == recorded.peak_reserved[0]
    assert found.peak_allocated == pytest.approx(recorded.peak_allocated, rel=0.01)


def test_a_program_gives_cached_memory_back_where_the_recorded_one_did():
    recorder = Recorder(CachingAllocator(Driver(64 * MiB)))
    for size in (30 * MiB, 12 * MiB):
        recorder.free(recorder.malloc(size))
    recorder.empty_cache()
    recorder.malloc(500)
    with pytest.raises(OutOfMemory):
        recorder.malloc(63 * MiB)
    trace = recorded_trace(loads(pickle.dumps(recorder.snapshot()), "made.pickle"))
    assert trace.events[-1][:3] == ("oom", 62 * MiB, 63 * MiB)
    program = program_of(trace)
    actions = [step.action for step in program.steps]
    assert actions == ["alloc", "free", "alloc", "free", "empty_cache", "alloc"]
    assert run(program).reserved[-1] == 2 * MiB


def test_curves_have_a_point_for_every_step_until_memory_runs_out():
    sizes = (512, 3 * MiB, 20 * MiB)
    steps = [Step("alloc", key, size) for key, size in enumerate(sizes)]
    program = Program((*steps, *(Step("free", key) for key in range(3))))
    found = run(program)
    allocated = [512, 512 + 3 * MiB, 512 + 23 * MiB, 23 * MiB, 20 * MiB, 0]
    assert found.allocated.tolist() == allocated and found.ran_out is None
    assert found.reserved.tolist() == [2 * MiB, 22 * MiB, *[42 * MiB] * 4]
    short = run(program, capacity=30 * MiB)
    assert (short.ran_out, short.peak_reserved, len(short.reserved)) == (2, 22 * MiB, 2)


def test_fragmentation_can_end_a_program_that_would_fit():
    """Many blocks freed between kept ones: idle bytes, no two of them side by side."""
    steps = [Step("alloc", key, 5 * MiB) for key in range(8)]
    steps += [Step("free", key) for key in range(0, 8, 2)]
    steps += [Step("alloc", 9, 20 * MiB)]
    found = run(Program(tuple(steps)), capacity=50 * MiB)
    assert found.ran_out == len(steps) - 1
    assert found.reserved[-1] - found.allocated[-1] >= 20 * MiB


def test_settings_are_compared_on_the_same_program():
    program = asked_for("fragmented")
    expandable = run(program, Settings.parse("expandable_segments:True"))
    assert expandable.peak_reserved < run(program).peak_reserved


def test_a_block_of_no_bytes_asks_for_nothing():
    """No allocator makes one; a stranger's file has it."""
    blocks = [
        {"address": 2**40, "size": 0, "state": "active_allocated"},
        {"address": 2**40, "size": 2 * MiB, "state": "active_allocated"},
    ]
    segment = {"address": 2**40, "total_size": 2 * MiB, "stream": 0, "segment_type": "large"}
    content = {"segments": [{**segment, "blocks": blocks}], "device_traces": [[]]}
    trace = recorded_trace(loads(pickle.dumps(content), "odd"))
    assert run(program_of(trace)).peak_allocated == 2 * MiB
