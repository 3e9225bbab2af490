"""torch's pipelines on real ranks: what a watched stage notes, against the simulator."""

import pytest

from course_utils import ranks
from course_utils.chapters.sharding import simulate, torch_schedule
from tests.chapters.sharding.schedules import gpipe, interleaved, one_f_one_b

SECONDS = 0.02  # a forward pass of a rank that sleeps
ON_RANKS = """
import torch
from course_utils.chapters.sharding import Sleeper, WatchedStage, together
from torch.distributed import pipelining

def step(Schedule, numbers, seconds):
    count = 4 * len(numbers)
    stages = [WatchedStage(Sleeper(seconds / len(numbers)), i, count, device) for i in numbers]
    plan = Schedule(stages if len(stages) > 1 else stages[0], 8, loss_fn=lambda y, _: y.sum())
    plan.step(*[torch.ones(8, 3)] * (rank == 0), target=torch.ones(8, 1))
    return stages

def notes(stages):
    sent = [n for stage in stages for n in stage.sent]
    spans = [span for stage in stages for span in stage.spans()]
    grads = [float(stage.submod.weight.grad) for stage in stages]
    return *together(stages), sent, spans, grads

found = {
    "GPipe": notes(step(pipelining.ScheduleGPipe, (rank,), 0)),
    "1F1B": notes(step(pipelining.Schedule1F1B, (rank,), SECONDS)),
    "interleaved": notes(step(pipelining.ScheduleInterleaved1F1B, (rank, rank + 4), 0)),
    "V": notes(step(pipelining.ScheduleZBVZeroBubble, (rank, 7 - rank), 0)),
}
"""
ORDERS = {
    "GPipe": gpipe(4, 8),
    "1F1B": one_f_one_b(4, 8),
    "interleaved": interleaved(4, 8, 2),
    "V": torch_schedule("ZBVZeroBubble", 4, 8, chunks=2),
}
MESSAGES = {"GPipe": 6 * 8, "1F1B": 6 * 8, "interleaved": 14 * 8, "V": 12 * 8}


@pytest.fixture(scope="module")
def found():
    ranks.start(4, device="cpu", limit_seconds=120)
    ranks.run_cell(ON_RANKS.replace("SECONDS", str(SECONDS)))
    yield ranks.pull("found")
    ranks.stop()


@pytest.mark.parametrize("name", ORDERS)
def test_torch_runs_the_order_and_holds_what_the_simulator_counts(found, name):
    assert [row[name][0] for row in found] == ORDERS[name]
    assert tuple(row[name][1] for row in found) == simulate(ORDERS[name]).alive


@pytest.mark.parametrize("name", ORDERS)
def test_messages_to_other_ranks_are_counted_and_those_to_oneself_are_none(found, name):
    sent = [n for row in found for n in row[name][2]]
    assert sent == [3 * 4] * MESSAGES[name]


@pytest.mark.parametrize("name", ORDERS)
def test_a_stage_that_sleeps_changes_nothing_and_has_a_gradient(found, name):
    """Its weight is added to 8 · 3 entries; torch takes the mean over 8 micro-batches."""
    assert {grad for row in found for grad in row[name][4]} == {3.0}


def test_stages_that_sleep_take_what_the_simulator_says(found):
    spans = [span for row in found for span in row["1F1B"][3]]
    took = max(s.end for s in spans) - min(s.start for s in spans)
    want = float(simulate(one_f_one_b(4, 8), {"F": SECONDS, "B": 2 * SECONDS}).makespan)
    assert want < took < 3 * want


def test_bars_carry_the_rank_the_kind_and_the_micro_batch(found):
    spans = found[2]["V"][3]
    assert {s.row for s in spans} == {"rank 2"}
    assert {s.label for s in spans} == {"F", "I", "W", "F+", "I+", "W+"}
    assert {s.note for s in spans} == {str(i) for i in range(8)}
