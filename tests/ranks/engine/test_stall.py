"""When ranks are stuck, and when they are only slow."""

import pytest

from course_utils.ranks.engine.stall import HURRY_SECONDS, PATIENCE_SECONDS, Watch

CALL, DEVICE, SET_UP = (PATIENCE_SECONDS[wait] for wait in ("call", "device", "set-up"))


def at(wait, mark="m", cpu=0.0, pending=None):
    """A sample of a rank that waits so, or works where `wait` is None."""
    return {"wait": wait, "mark": mark, "cpu": cpu, "call": wait, "tensors": "", "pending": pending}


def watched(samples, now, failed=False):
    """The verdict on samples (second, rank, how it waits or None, mark, processor seconds)."""
    watch = Watch(0.0)
    for second, rank, wait, mark, cpu in samples:
        watch.add(rank, at(wait, mark, cpu), second)
    return watch.stuck({s[1] for s in samples}, now, failed)


def test_ranks_that_all_wait_at_one_place_are_stuck_after_a_while():
    samples = [(t, r, "call", "m", 0.1) for t in (0, 1, 2, 3) for r in (0, 1)]
    assert watched(samples, CALL)
    assert not watched(samples, CALL - 0.1)


def test_once_a_rank_has_failed_the_others_are_waited_for_less_long():
    samples = [(t, 0, "call", "m", 0.1) for t in (0, 0.3, 0.6)]
    assert watched(samples, HURRY_SECONDS["call"], failed=True)


def judged(waits, now, ended=0):
    """The verdict on ranks that wait so from second 0 on, spinning; `ended` ranks have finished."""
    watch = Watch(0.0)
    for _ in range(ended):
        watch.progress(0.0)
    for second in range(int(now) + 1):
        for rank, (wait, pending) in enumerate(waits):
            watch.add(rank, at(wait, cpu=float(second), pending=pending), second)
    return watch.stuck(set(range(len(waits))), now, failed=False)


def test_who_spins_for_a_device_whose_collective_nobody_joins_is_stuck():
    sum_, other = {"name": "all_reduce", "seq": [3, 0]}, {"name": "broadcast", "seq": [3, 0]}
    assert judged([("device", sum_)], DEVICE, ended=1)
    assert judged([("device", sum_), ("device", other)], DEVICE)
    assert not judged([("device", sum_)], DEVICE - 1, ended=1)
    assert not judged([("device", sum_), (None, None)], 2 * DEVICE)


def test_ranks_in_the_same_long_work_of_their_devices_or_set_up_are_slow_not_stuck():
    sum_ = {"name": "all_reduce", "seq": [3, 0]}
    assert not judged([("device", sum_)] * 4, 10 * DEVICE)
    assert not judged([("set-up", None)] * 4, 10 * SET_UP)
    assert judged([("set-up", None)] * 3, SET_UP, ended=1)
    assert not judged([("set-up", None)] * 3, SET_UP - 1, ended=1)


@pytest.mark.parametrize(
    "why, other",
    [
        ("works in Python", (None, ["a"] * 4, [0, 1, 2, 3])),
        ("sleeps", (None, ["a"] * 4, [0, 0, 0, 0])),
        ("moves on", ("call", ["a", "b", "c", "d"], [0, 0, 0, 0])),
        ("sends a large tensor", ("call", ["a"] * 4, [0, 0.5, 1, 1.5])),
    ],
)
def test_a_slow_rank_is_no_stall(why, other):
    wait, marks, cpus = other
    samples = [(t, 0, "call", "m", 0.0) for t in range(4)]
    samples += [(t, 1, wait, marks[t], cpus[t]) for t in range(4)]
    assert not watched(samples, 3.5)


def test_who_waits_for_a_slow_rank_is_given_time_once_it_came():
    watch = Watch(0.0)
    for t in range(9):
        watch.add(0, at("call"), t)
    watch.progress(8.0)
    assert not watch.stuck({0}, 8.1, failed=False)
    assert watch.stuck({0}, 8.0 + CALL, failed=False)
