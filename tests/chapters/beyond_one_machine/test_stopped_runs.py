"""A run with stops, piece by piece, and the share that it keeps in the long run."""

import math
import random
from itertools import accumulate, pairwise

import pytest

from course_utils.chapters.beyond_one_machine.exercises import EDGES, StoppedRun, draw_run, edges_of
from course_utils.chapters.beyond_one_machine.stopped_runs import (
    Piece,
    pieces,
    seconds_of,
    share_kept,
)


def test_a_run_by_hand():
    found = pieces([20, 22, 43], 60, interval=6, save_seconds=2, restart_seconds=5)
    assert found == [
        Piece("kept", 0, 6),
        Piece("saving", 6, 8),
        Piece("kept", 8, 14),
        Piece("saving", 14, 16),
        Piece("lost", 16, 20),
        Piece("restarting", 20, 22),
        Piece("restarting", 22, 27),
        Piece("kept", 27, 33),
        Piece("saving", 33, 35),
        Piece("kept", 35, 41),
        Piece("saving", 41, 43),
        Piece("restarting", 43, 48),
        Piece("kept", 48, 54),
        Piece("saving", 54, 56),
        Piece("lost", 56, 60),
    ]


def test_pieces_follow_each_other_from_the_start_to_the_length():
    for _ in range(300):
        run = draw_run()
        found = run.pieces()
        assert found[0].start == 0 and found[-1].end == run.length
        assert all(one.end == other.start for one, other in pairwise(found))


@pytest.mark.parametrize("interval, restart_seconds", [(300, 0), (300, 200), (3000, 100)])
def test_the_share_by_chances_is_that_of_a_long_run(interval, restart_seconds):
    draws, between = random.Random(1), 1500
    stops = list(accumulate(draws.expovariate(1 / between) for _ in range(30_000)))
    run = pieces(stops, stops[-1], interval, 60, restart_seconds)
    share = share_kept(interval, 60, restart_seconds, between)
    assert math.isclose(seconds_of("kept", run) / stops[-1], share, rel_tol=0.03)


def test_an_interval_that_never_comes_through_keeps_next_to_nothing():
    assert 0 <= share_kept(10**9, 60, 300, 1000) < 1e-9


@pytest.mark.parametrize(
    "run, edge",
    [
        (StoppedRun([], 30, 5, 2, 4), "no stop"),
        (StoppedRun([3], 30, 5, 2, 4), "a stop cuts computing"),
        (StoppedRun([6], 30, 5, 2, 4), "a stop cuts a save"),
        (StoppedRun([3, 5], 30, 5, 2, 4), "a stop cuts a restart"),
        (StoppedRun([7], 30, 5, 2, 4), "a save ends as a stop comes"),
        (StoppedRun([3, 7], 30, 5, 2, 4), "a restart ends as a stop comes"),
        (StoppedRun([16], 30, 5, 2, 4), "several saves between two stops"),
        (StoppedRun([], 14, 5, 2, 4), "a save ends at the length"),
        (StoppedRun([], 13, 5, 2, 4), "the length cuts a save"),
        (StoppedRun([28], 30, 5, 2, 4), "the length cuts a restart"),
        (StoppedRun([30], 30, 5, 2, 4), "a stop at the length"),
        (StoppedRun([31], 30, 5, 2, 4), "a stop after the length"),
        (StoppedRun([3], 30, 5, 2, 0), "a restart takes no time"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_edge_has_its_run(run, edge):
    assert edge in edges_of(run) and edge in EDGES
