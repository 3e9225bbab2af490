"""A recorded program run again: with other settings, on a smaller device."""

import pickle

import pytest

from course_utils.core import files
from course_utils.memory.allocator.rules import CachingAllocator, MiB
from course_utils.memory.allocator.settings import Settings
from course_utils.memory.recorded import recorded_trace
from course_utils.memory.snapshots.recorder import Recorder
from course_utils.memory.snapshots.snapshot import load
from course_utils.memory.what_if import Program, Step, program_of, run
from tests.support.replay import replay
from tests.support.snapshots import asked_for

pytestmark = pytest.mark.without_torch

FOLDER = files.ROOT.parent / "shared" / "snapshots"
needs_files = pytest.mark.skipif(not FOLDER.exists(), reason="no real snapshots beside the project")


def filled(*sizes):
    """Allocates all, then frees all."""
    steps = [Step("alloc", key, size) for key, size in enumerate(sizes)]
    return Program((*steps, *(Step("free", key) for key in range(len(sizes)))))


@needs_files
@pytest.mark.parametrize("name", ["cross_entropy_vanilla", "cross_entropy_liger"])
def test_a_trace_from_an_empty_allocator_run_again_reserves_what_it_did(name):
    trace = recorded_trace(load(FOLDER / f"{name}.pickle"))
    program = program_of(trace)
    assert program.before == 0
    assert run(program).peak_reserved == replay(trace).peak_reserved[0]


@needs_files
def test_a_trace_from_the_middle_brings_in_what_was_there():
    trace = recorded_trace(load(FOLDER / "allocator_growth.pickle"))
    program = program_of(trace)
    found = run(program)
    held = sum(step.size for step in program.steps[: program.before])
    assert found.allocated[program.before - 1] == held
    assert found.peak_reserved >= found.peak_allocated == replay(trace).peak_allocated


def test_a_program_gives_cached_memory_back_where_the_recorded_one_did(tmp_path):
    recorder = Recorder(CachingAllocator())
    for size in (30 * MiB, 12 * MiB):
        recorder.free(recorder.malloc(size))
    recorder.empty_cache()
    recorder.malloc(500)
    file = tmp_path / "made.pickle"
    file.write_bytes(pickle.dumps(recorder.snapshot()))
    program = program_of(recorded_trace(load(file)))
    actions = [step.action for step in program.steps]
    assert actions == ["alloc", "free", "alloc", "free", "empty_cache", "alloc"]
    assert run(program).reserved[-1] == 2 * MiB


def test_curves_have_a_point_for_every_step_and_count_in_bytes():
    found = run(filled(512, 3 * MiB, 20 * MiB))
    assert found.allocated.tolist() == [
        512, 512 + 3 * MiB, 512 + 23 * MiB, 23 * MiB, 20 * MiB, 0,
    ]  # fmt: skip
    assert found.reserved.tolist() == [2 * MiB, 22 * MiB, *[42 * MiB] * 4]
    assert found.ran_out is None


def test_memory_runs_out_at_the_step_that_no_longer_fits():
    found = run(filled(12 * MiB, 12 * MiB, 12 * MiB), capacity=30 * MiB)
    assert found.ran_out == 2
    assert found.peak_reserved == 24 * MiB and len(found.reserved) == 2


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
