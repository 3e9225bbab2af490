"""Schedules of a pipeline: played by the rules, torch's own as well; and orders that can't be kept.

How long the page's orders idle and what they hold are its claims.
"""

from fractions import Fraction

import pytest

from course_utils.chapters.tensor_and_pipeline import (
    UNIT_TIMES,
    draw_pipelines,
    simulate,
    torch_schedule,
)
from tests.support.page_cells import cells_of

PAGE: dict = {}
for cell in ("schedules", "schedule-1f1b", "zero-bubble"):
    exec(cells_of("14")[cell], PAGE)
gpipe, one_f_one_b, zero_bubble = (PAGE[n] for n in ("gpipe", "one_f_one_b", "zero_bubble"))


@pytest.mark.parametrize("p, m", [(2, 2), (3, 6), (4, 4), (8, 16)])
def test_the_pages_orders_are_torchs_or_wait_as_long_and_hold_as_much_as_published(p, m):
    """torch 2.13 lists the last rank's forward passes from 1 on; it runs them from 0 on.

    Qi et al. 2023, table 1: ZB-H1 waits (p − 1)(F + I − W), and holds what rank 0 of 1F1B does.
    """
    assert torch_schedule("GPipe", p, m) == gpipe(p, m)
    assert torch_schedule("1F1B", p, m)[:-1] == one_f_one_b(p, m)[:-1]
    run = simulate(zero_bubble(p, m))
    assert run.idle_passes == Fraction(p - 1, 3) and run.alive == (p,) * p
    half = {kind: Fraction(time, 2) for kind, time in UNIT_TIMES.items()}
    run = simulate(torch_schedule("ZBVZeroBubble", p, 2 * p, chunks=2), half)
    assert run.idle_passes == Fraction(p - 1, 6) and run.alive == (2 * p,) * p


def test_each_stage_may_take_its_own_time_and_the_slowest_sets_the_pace():
    slow = simulate(one_f_one_b(3, 30), {"F": [1, 1, 4], "B": [2, 2, 8]})
    assert slow.busy == (90, 90, 360)
    assert slow.makespan == 1 + 1 + 30 * 12 + 2 + 2


def test_a_hand_over_delays_the_one_who_waits_and_keeps_nobody_busy():
    there_and_back = [[(0, "F", 0), (0, "B", 0)], [(1, "F", 0), (1, "B", 0)]]
    run = simulate(there_and_back, hand_over=Fraction(1, 2))
    assert run.makespan == 1 + 0.5 + 1 + 2 + 0.5 + 2
    assert run.busy == (3, 3)
    own = [[(0, "F", 0), (1, "F", 0), (1, "B", 0), (0, "B", 0)]]
    assert simulate(own, hand_over=9).bubble == 0


def test_no_action_begins_before_its_inputs_nor_its_rank_is_free():
    run = simulate(zero_bubble(4, 9), {"F": [3, 1, 4, 1], "I": [5, 9, 2, 6], "W": [5, 3, 5, 8]})
    ends = {p.action: p.end for p in run.played}
    for p in run.played:
        stage, kind, batch = p.action
        waits = {
            "F": [(stage - 1, "F", batch)],
            "W": [(stage, "I", batch)],
            "I": [(stage, "F", batch), (stage + 1, "I", batch)],
        }[kind]
        before = [ends[one] for one in waits if one in ends]
        before += [q.end for q in run.played if q.rank == p.rank and q.start < p.start]
        assert p.start == max(before, default=0)


@pytest.mark.parametrize(
    "schedule, says",
    [
        ([[(0, "B", 0), (0, "F", 0)]], "before 0F0, which comes later in its own list"),
        ([[(0, "F", 0), (0, "B", 0)], [(1, "F", 0)]], "before 1B0, which nobody does"),
        ([[(0, "F", 0), (0, "F", 0)]], "0F0 comes twice"),
        ([[(0, "F", 0)], [(0, "F", 1)]], "Stage 0 is on ranks 0 and 1"),
        ([[(0, "X", 0)]], "'X' is none of F, B, I, W"),
        ([], "has no actions"),
        ([[], []], "has no actions"),
    ],
)
def test_what_is_no_schedule_is_refused_in_a_sentence(schedule, says):
    with pytest.raises(ValueError, match=says):
        simulate(schedule)


def test_a_missing_time_and_a_wrong_number_of_stages_are_named():
    for times in ({"F": 1}, {"F": 1, "B": [1]}):
        with pytest.raises(ValueError, match="no time for 1B0"):
            simulate(gpipe(2, 1), times)
    with pytest.raises(ValueError, match="2 or more stages on each rank"):
        torch_schedule("Interleaved1F1B", 4, 8)
    with pytest.raises(ValueError, match="one stage on each rank"):
        torch_schedule("GPipe", 4, 8, chunks=2)


def test_every_rank_and_kind_is_drawn_and_told_and_what_was_measured_not_to_the_digit():
    runs = {"one": torch_schedule("GPipe", 4, 8), "two": torch_schedule("ZBVZeroBubble", 2, 8, 2)}
    spans = {name: simulate(run).spans() for name, run in runs.items()}
    picture = draw_pipelines("Two orders", spans)
    assert "rank 3: forward × 8, backward × 8; to 27" in picture.drawn
    assert "later stage" in picture.drawn and picture.png.startswith(b"\x89PNG")
    live = draw_pipelines("Live", spans, unit="seconds", live=True)
    assert "backward × 8, together ≈ 16 s" in live.drawn
    for nothing in ({}, {"empty": []}):
        with pytest.raises(ValueError, match="no spans"):
            draw_pipelines("Nothing", nothing)
