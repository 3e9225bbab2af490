"""Pipeline schedules: the library's simulator, the page's loop, and torch's own schedules.

How long the page's schedules idle and what they hold are its claims.
"""

import random
from fractions import Fraction

import pytest

from course_utils.chapters import tensor_and_pipeline
from course_utils.chapters.tensor_and_pipeline import (
    UNIT_TIMES,
    draw_pipelines,
    one_f_one_b,
    pipeline_explorer,
    simulate,
    torch_schedule,
)
from tests.support.page_cells import cells_of

PAGE: dict = {"chapter": tensor_and_pipeline}
for cell in ("gpipe", "needs", "simulator", "zero-bubble"):
    exec(cells_of("14")[cell], PAGE)
gpipe, zero_bubble = PAGE["gpipe"], PAGE["zero_bubble"]


@pytest.mark.parametrize("p, m", [(2, 2), (3, 6), (4, 4), (8, 16)])
def test_schedules_are_torchs_or_wait_as_long_and_hold_as_much_as_published(p, m):
    """torch 2.13 lists the last rank's forward passes from 1 on; it runs them from 0 on.

    Qi et al. 2023, table 1: ZB-H1 waits (p − 1)(F + I − W), and holds what rank 0 of 1F1B does.
    """
    assert torch_schedule("GPipe", p, m) == gpipe(p, m)
    assert torch_schedule("1F1B", p, m)[:-1] == one_f_one_b(p, m)[:-1]
    run = simulate(zero_bubble(p, m))
    assert run.makespan == 3 * m + p - 1 and run.alive == (p,) * p
    half = {kind: Fraction(time, 2) for kind, time in UNIT_TIMES.items()}
    run = simulate(torch_schedule("ZBVZeroBubble", p, 2 * p, chunks=2), half)
    assert run.bubble == Fraction(p - 1, 6 * 2 * p + p - 1) and run.alive == (2 * p,) * p


def test_the_pages_loop_gives_the_librarys_times_or_a_deadlock_where_it_does():
    deadlocks = 0
    for _ in range(200):
        order = random.choice([gpipe, one_f_one_b, zero_bubble])
        schedule = order(random.randint(1, 4), random.randint(1, 5))
        if random.random() < 0.5:
            random.shuffle(random.choice(schedule))
        try:
            run = simulate(schedule)
        except ValueError:
            deadlocks += 1
            with pytest.raises(ValueError, match="deadlock"):
                PAGE["run_schedule"](schedule)
        else:
            assert PAGE["run_schedule"](schedule) == {t.action: t.end for t in run.timed}
            assert PAGE["idle_share"](schedule) == pytest.approx(float(run.bubble))
    assert 0 < deadlocks < 200


def test_each_stage_may_take_its_own_time_and_the_slowest_sets_the_pace():
    slow = simulate(one_f_one_b(3, 30), {"F": [1, 1, 4], "B": [2, 2, 8]})
    assert slow.makespan == 1 + 1 + 30 * 12 + 2 + 2
    assert slow.bubble == 1 - Fraction(90 + 90 + 360, 3 * slow.makespan)


def test_no_action_begins_before_its_inputs_nor_its_rank_is_free():
    run = simulate(zero_bubble(4, 9), {"F": [3, 1, 4, 1], "I": [5, 9, 2, 6], "W": [5, 3, 5, 8]})
    ends = {p.action: p.end for p in run.timed}
    for p in run.timed:
        stage, kind, batch = p.action
        waits = {
            "F": [(stage - 1, "F", batch)],
            "W": [(stage, "I", batch)],
            "I": [(stage, "F", batch), (stage + 1, "I", batch)],
        }[kind]
        before = [ends[one] for one in waits if one in ends]
        before += [q.end for q in run.timed if q.rank == p.rank and q.start < p.start]
        assert p.start == max(before, default=0)


@pytest.mark.parametrize(
    "schedule, says",
    [
        ([[(0, "B", 0), (0, "F", 0)]], "rank 0 can't do 0B0 before 0F0"),
        ([[(0, "F", 0), (0, "F", 0)]], "0F0 comes twice"),
        ([[(0, "F", 0)], [(0, "F", 1)]], "Stage 0 is on ranks 0 and 1"),
        ([[(0, "X", 0)]], "'X' is none of F, B, I, W"),
        ([], "has no actions"),
        ([[], []], "has no actions"),
    ],
)
def test_an_impossible_schedule_is_refused_in_a_sentence(schedule, says):
    with pytest.raises(ValueError, match=says):
        simulate(schedule)


def test_torchs_schedules_of_one_stage_per_rank_refuse_two():
    with pytest.raises(ValueError, match="one stage on each rank"):
        torch_schedule("GPipe", 4, 8, chunks=2)


def test_every_rank_and_kind_is_drawn_and_said():
    runs = {"one": torch_schedule("GPipe", 4, 8), "two": torch_schedule("ZBVZeroBubble", 2, 8, 2)}
    picture = draw_pipelines("Two", {name: simulate(run).spans() for name, run in runs.items()})
    assert "rank 3: forward × 8, backward × 8; to 27" in picture.drawn
    assert "later stage" in picture.drawn and picture.png.startswith(b"\x89PNG")
    for nothing in ({}, {"empty": []}):
        with pytest.raises(ValueError, match="no spans"):
            draw_pipelines("Nothing", nothing)


def test_the_explorer_redraws_for_another_schedule_and_a_costlier_last_stage():
    explorer = pipeline_explorer({"GPipe": gpipe, "zero bubble": zero_bubble})
    order, ranks, batches, last, _, reading = explorer.children
    assert "47% idle" in reading.value and "<b>8, 8, 8, 8, 8, 8, 8, 8</b>" in reading.value
    order.value = "zero bubble"
    assert "23% idle" in reading.value
    last.value = 5
    assert "23% idle" not in reading.value
    ranks.value, batches.value = 1, 1
    assert "0% idle; the step takes <b>15</b>" in reading.value
