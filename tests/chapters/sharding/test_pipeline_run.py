"""Schedules of a pipeline: what is published of each, counted; and orders that can't be kept."""

from fractions import Fraction

import pytest

from course_utils.chapters.sharding import UNIT_TIMES, simulate
from tests.chapters.sharding.schedules import gpipe, interleaved, one_f_one_b, zero_bubble

SIZES = [(p, m) for p in (1, 2, 3, 4, 7) for m in (p, p + 1, 3 * p)]


@pytest.mark.parametrize("p, m", [*SIZES, (4, 2)])
def test_gpipe_and_1f1b_are_idle_as_long_and_differ_in_what_they_hold(p, m):
    """Huang et al. 2019, section 2.3, and Narayanan et al. 2021, section 2.2."""
    all_first, in_turn = simulate(gpipe(p, m)), simulate(one_f_one_b(p, m))
    assert all_first.bubble == in_turn.bubble == Fraction(p - 1, m + p - 1)
    assert all_first.idle_passes == in_turn.idle_passes == p - 1
    assert all_first.alive == (m,) * p
    assert in_turn.alive == tuple(min(m, p - rank) for rank in range(p))


@pytest.mark.parametrize("p", [2, 3, 4])
@pytest.mark.parametrize("v", [2, 3])
def test_v_stages_a_rank_shrink_the_bubble_v_times(p, v):
    times = {kind: Fraction(time, v) for kind, time in UNIT_TIMES.items()}
    run = simulate(interleaved(p, 2 * p, v), times)
    assert run.bubble == Fraction(p - 1, v * 2 * p + p - 1)


@pytest.mark.parametrize("p, m", [(p, m) for p, m in SIZES if m > 1])
def test_zero_bubble_waits_a_third_as_long_and_holds_p_everywhere(p, m):
    """Qi et al. 2023, table 1: ZB-H1 waits (p − 1)(F + I − W), and holds what rank 0 does."""
    run = simulate(zero_bubble(p, m))
    assert run.idle_passes == Fraction(p - 1, 3)
    assert run.alive == (p,) * p


def test_zero_bubble_waits_f_and_i_without_w_for_other_times_too():
    times = {"F": 5, "I": 6, "W": 4}
    run = simulate(zero_bubble(4, 16), times)
    assert run.makespan - run.busy[0] == 3 * (5 + 6 - 4)


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


def test_floats_are_added_up_exactly():
    run = simulate(gpipe(4, 50), {"F": 0.1, "B": 0.2})
    assert run.makespan == 53 * (Fraction(0.1) + Fraction(0.2))


def test_no_action_begins_before_its_inputs_nor_its_rank_is_free():
    """Against the rules themselves, in random times."""
    run = simulate(zero_bubble(4, 9), {"F": [3, 1, 4, 1], "I": [5, 9, 2, 6], "W": [5, 3, 5, 8]})
    ends = {p.action: p.end for p in run.played}
    for p in run.played:
        stage, kind, batch = p.action
        waits = {"F": [(stage - 1, "F", batch)], "W": [(stage, "I", batch)],
                 "I": [(stage, "F", batch), (stage + 1, "I", batch)]}[kind]  # fmt: skip
        before = [ends[one] for one in waits if one in ends]
        before += [q.end for q in run.played if q.rank == p.rank and q.start < p.start]
        assert p.start == max(before, default=0)


def test_spans_name_rank_kind_and_micro_batch_and_mark_a_later_stage():
    spans = simulate(interleaved(2, 2, 2)).spans()
    assert {s.row for s in spans} == {"rank 0", "rank 1"}
    assert {s.label for s in spans} == {"F", "B", "F+", "B+"}
    assert {s.note for s in spans} == {"0", "1"}


def test_ranks_that_wait_for_each_other_are_told_by_name():
    mixed = [
        [(0, "F", 0), (0, "B", 0), (0, "F", 1), (0, "B", 1)],
        [(1, "F", 1), (1, "F", 0), (1, "B", 1), (1, "B", 0)],
    ]
    with pytest.raises(ValueError, match="never ends") as told:
        simulate(mixed)
    assert "rank 0 can't do 0B0 before 1B0, which rank 1 has yet to do" in str(told.value)
    assert "rank 1 can't do 1F1 before 0F1, which rank 0 has yet to do" in str(told.value)


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


@pytest.mark.parametrize("times", [{"F": 1}, {"F": 1, "B": [1]}])
def test_a_missing_time_is_named(times):
    with pytest.raises(ValueError, match=r"no time for 1B0"):
        simulate(gpipe(2, 1), times)
