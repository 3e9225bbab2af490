"""A run with stops, piece by piece, and the share that it keeps in the long run."""

import math
import random
from itertools import accumulate, pairwise

import pytest

from course_utils.chapters.beyond_one_machine.exercises import draw_run
from course_utils.chapters.beyond_one_machine.stopped_runs import pieces, seconds_of, share_kept


def test_a_run_by_hand():
    found = pieces([20, 22, 43], 60, interval=6, save_seconds=2, restart_seconds=5)
    assert ", ".join(f"{piece.kind} {piece.start}–{piece.end}" for piece in found) == (
        "kept 0–6, saving 6–8, kept 8–14, saving 14–16, lost 16–20, "
        "restarting 20–22, restarting 22–27, kept 27–33, saving 33–35, kept 35–41, saving 41–43, "
        "restarting 43–48, kept 48–54, saving 54–56, lost 56–60"
    )


def test_pieces_follow_each_other_from_the_start_to_the_length():
    for _ in range(300):
        run = draw_run()
        found = pieces(*run)
        assert found[0].start == 0 and found[-1].end == run[1]
        assert all(one.end == other.start for one, other in pairwise(found))


@pytest.mark.parametrize("interval, restart_seconds", [(300, 200), (3000, 100)])
def test_the_share_by_chances_is_that_of_a_long_run(interval, restart_seconds):
    draws, between = random.Random(1), 1500
    stops = list(accumulate(draws.expovariate(1 / between) for _ in range(20_000)))
    run = pieces(stops, stops[-1], interval, 60, restart_seconds)
    share = share_kept(interval, 60, restart_seconds, between)
    assert math.isclose(seconds_of("kept", run) / stops[-1], share, rel_tol=0.03)
    assert 0 <= share_kept(10**9, 60, 300, 1000) < 1e-9  # never comes through
