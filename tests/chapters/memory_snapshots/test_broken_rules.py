"""Allocators that lack a rule: seen in their decisions, and never the thriftier."""

import pytest

from course_utils.core import files
from course_utils.memory.recorded import recorded_trace
from course_utils.memory.snapshots.snapshot import load
from course_utils.memory.what_if import run
from tests.support.broken_rules import BROKEN, FirstFit, NoCoalescing
from tests.support.replay import RecordedDriver, replay
from tests.support.snapshots import asked_for

pytestmark = pytest.mark.without_torch

FOLDER = files.ROOT.parent / "shared" / "snapshots"
REAL = sorted(FOLDER.glob("*.pickle"))
needs_files = pytest.mark.skipif(not REAL, reason="no real snapshots beside this project")


@needs_files
def test_a_broken_rule_is_seen_in_the_decisions():
    trace = recorded_trace(load(FOLDER / "allocator_fragmented.pickle"))
    found = replay(trace, NoCoalescing(RecordedDriver()))
    assert not found.exact and found.same < found.requests
    assert found.first_difference.startswith("event ")
    assert found.peak_reserved[1] > 1.4 * found.peak_reserved[0]
    recorded, ours = replay(trace, FirstFit(RecordedDriver())).peak_reserved
    assert ours > 1.3 * recorded


@pytest.mark.parametrize("rule", BROKEN)
def test_without_a_rule_the_program_still_runs_and_asks_no_less_of_the_program(rule):
    program = asked_for("step_fp32")
    found = run(program, allocator=BROKEN[rule]())
    assert found.peak_reserved >= found.peak_allocated >= 0.99 * run(program).peak_allocated
