"""torch's own orders, beside those of the page and of a paper, and played."""

from fractions import Fraction

import pytest

from course_utils.chapters.sharding import UNIT_TIMES, simulate, torch_schedule
from tests.chapters.sharding.schedules import gpipe, interleaved, one_f_one_b

SIZES = [(2, 2), (2, 6), (3, 6), (4, 4), (4, 8), (8, 16)]


@pytest.mark.parametrize("p, m", SIZES)
@pytest.mark.parametrize("v", [2, 3])
def test_interleaved_1f1b_is_torchs(p, m, v):
    assert torch_schedule("Interleaved1F1B", p, m, v) == interleaved(p, m, v)


@pytest.mark.parametrize("p, m", SIZES)
def test_gpipe_is_torchs_and_1f1b_is_on_all_ranks_but_the_last(p, m):
    """torch 2.13 lists the last rank's forward passes from 1 on; it runs them from 0 on."""
    assert torch_schedule("GPipe", p, m) == gpipe(p, m)
    assert torch_schedule("1F1B", p, m)[:-1] == one_f_one_b(p, m)[:-1]


def test_torchs_list_of_1f1b_is_right_or_is_told_to_never_end():
    torchs = torch_schedule("1F1B", 4, 8)
    if torchs != one_f_one_b(4, 8):
        with pytest.raises(ValueError, match="3B0 before 3F0, which nobody does"):
            simulate(torchs)


@pytest.mark.parametrize("p, m", [(2, 4), (3, 6), (4, 8), (8, 16)])
@pytest.mark.parametrize("name", ["InterleavedZeroBubble", "ZBVZeroBubble"])
def test_torchs_zero_bubbles_with_two_stages_a_rank_wait_a_sixth_of_1f1b(name, p, m):
    half = {kind: Fraction(time, 2) for kind, time in UNIT_TIMES.items()}
    run = simulate(torch_schedule(name, p, m, chunks=2), half)
    assert run.idle_passes == Fraction(p - 1, 6)
    assert run.alive == (2 * p,) * p


@pytest.mark.parametrize("name, m, chunks", [("LoopedBFS", 8, 3), ("DualPipeV", 8, 2)])
def test_other_schedules_of_torch_can_be_played(name, m, chunks):
    run = simulate(torch_schedule(name, 4, m, chunks))
    assert len({p.action for p in run.played}) >= 2 * 4 * m * chunks


def test_a_wrong_number_of_stages_is_refused():
    with pytest.raises(ValueError, match="2 or more stages on each rank"):
        torch_schedule("Interleaved1F1B", 4, 8)
    with pytest.raises(ValueError, match="one stage on each rank"):
        torch_schedule("GPipe", 4, 8, chunks=2)
