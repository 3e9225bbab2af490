"""The input pipeline in virtual time: exact, so tested exactly, and against torch's DataLoader."""

import itertools
import random
from fractions import Fraction

import pytest

from course_utils.chapters.input_pipeline.pipeline import simulate

pytestmark = pytest.mark.without_torch


def events(loads, step, workers, depth, start):
    """The same epoch by another way: processes that are played event by event, not a recurrence.

    When each batch was begun, taken and done.
    """
    n, queues = len(loads), [[] for _ in range(workers)]
    begun, ready, taken = {}, {}, {}
    now, sent = workers * start, 0
    while sent < min(n, depth * workers):
        queues[sent % workers].append(sent)
        sent += 1
    loading, device_free = [None] * workers, now
    while len(taken) < n:
        for k in range(workers):
            if loading[k] is not None and ready[loading[k]] <= now:
                loading[k] = None
            if loading[k] is None and queues[k]:
                loading[k] = i = queues[k].pop(0)
                begun[i], ready[i] = now, now + loads[i]
        following = len(taken)
        if device_free <= now and ready.get(following, now + 1) <= now:
            taken[following], device_free = now, now + step
            if sent < n:
                queues[sent % workers].append(sent)
                sent += 1
            continue
        if any(loading[k] is None and queues[k] for k in range(workers)):
            continue
        moments = [ready[i] for i in loading if i is not None] + [device_free]
        now = min(moment for moment in moments if moment > now)
    return [(begun[i], taken[i], taken[i] + step) for i in range(n)]


def test_it_is_what_processes_played_event_by_event_give():
    draw = random.Random(5)
    for _ in range(400):
        workers, depth, n = draw.randint(1, 8), draw.randint(1, 4), draw.randint(1, 40)
        loads = [draw.choice((1, 3, 7, 40)) for _ in range(n)]
        step, start = draw.randint(1, 9), draw.randint(0, 5)
        run = simulate(loads, step, workers, depth, start)
        told = [(batch.begun, batch.taken, batch.done) for batch in run.batches]
        assert told == events(loads, step, workers, depth, start)


def page_formula(n, load, step, workers, start):
    """The page's epoch_seconds."""
    if workers == 0:
        return n * (load + step)
    return workers * start + load + (n - 1) * max(load / workers, step) + step


def test_without_workers_loading_and_steps_take_turns():
    run = simulate([3, 3, 3], 2, 0, 4, 100)
    assert [(b.worker, b.begun, b.taken, b.done) for b in run.batches] == [
        (None, 0, 3, 5),
        (None, 5, 8, 10),
        (None, 10, 13, 15),
    ]
    assert run.seconds == page_formula(3, 3, 2, 0, 100) == 15
    assert (run.idle, run.idle_share, run.idle_later) == (9, 0.6, 6)


def test_the_formula_is_exact_or_too_long_by_what_it_says_less_than_a_load():
    cases = itertools.product(range(1, 20), (1, 7, 30), (1, 6), range(9), (0, 2))
    for n, load, step, workers, start in cases:
        formula = page_formula(n, Fraction(load), step, workers, start)
        over = formula - simulate([load] * n, step, workers, 2, start).seconds
        rest = (n - 1) % workers if workers else 0
        assert over == (rest * max(Fraction(load, workers) - step, 0) if rest else 0)
        assert 0 <= over < load
