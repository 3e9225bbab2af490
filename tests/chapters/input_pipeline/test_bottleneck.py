"""What holds an epoch up and what to move: the advice is followed, and it helps."""

import re

import pytest

from course_utils.chapters.input_pipeline.bottleneck import DEPTHS, WORKERS, Setting

pytestmark = pytest.mark.without_torch

UNEVEN = [0.02] * 12 + [0.08] + [0.02] * 12 + [0.08] + [0.02] * 12


def advised(text):
    return int(re.search(r"<b>(\d+)</b>", text)[1])


@pytest.mark.parametrize(
    "load, step, enough", [(0.02, 0.006, 4), (0.02, 0.02, 1), (0.001, 0.02, 1), (0.02, 0.005, 4)]
)
def test_the_workers_that_keep_up_are_the_fewest_that_leave_the_device_no_later_wait(
    load, step, enough
):
    setting = Setting([load] * 50, step, 0.0)
    waits = {k: setting.run(k, 2).idle_later for k in WORKERS if k}
    assert setting.keep_up == enough == min(k for k in waits if waits[k] < 1e-9)


@pytest.mark.parametrize("workers, cause", [(0, "take turns"), (1, "loader"), (3, "loader")])
def test_too_few_workers_are_named_with_how_many_would_do(workers, cause):
    setting = Setting([0.02] * 30, 0.006, 0.0)
    found, advice = setting.diagnosis(workers, 2)
    assert cause in found and advised(advice) == 4
    assert "bottleneck itself" in setting.diagnosis(4, 2)[0]


def test_where_no_number_of_workers_on_offer_would_do_it_says_to_make_loading_cheaper():
    _, advice = Setting([0.2] * 30, 0.001, 0.0).diagnosis(8, 2)
    assert advised(advice) == 200 and "cheaper" in advice


def test_more_workers_than_needed_are_told_and_so_is_what_starting_them_takes():
    quick, slow = (Setting([0.02] * 30, 0.01, start) for start in (0.0, 0.05))
    assert advised(quick.diagnosis(6, 2)[1]) == 2
    cause, advice = slow.diagnosis(6, 2)
    assert "start" in cause and "300 ms" in advice and advised(advice) == 2


def test_deeper_is_the_advice_where_slow_batches_outlast_what_is_dealt_ahead_and_it_helps():
    setting = Setting(UNEVEN, 0.009, 0.0)
    cause, advice = setting.diagnosis(3, 1)
    times = {depth: setting.run(3, depth).seconds for depth in DEPTHS}
    assert "slow batches" in cause and "Move the depth" in advice
    assert advised(advice) > 1 and times[advised(advice)] < 1.01 * min(times.values())
    assert times[advised(advice)] < 0.95 * times[1]


def test_where_nothing_to_move_helps_it_says_so():
    setting = Setting([0.01] * 20 + [2.0] + [0.01] * 9, 0.08, 0.0)
    assert "Neither" in setting.diagnosis(8, 8)[1]
