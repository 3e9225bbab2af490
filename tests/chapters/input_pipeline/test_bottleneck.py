"""What holds an epoch up and what to move: the advice is followed, and it helps."""

import re

import pytest

from course_utils.chapters.input_pipeline.pipeline_widget import DEPTHS, WORKERS, Setting

pytestmark = pytest.mark.without_torch


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


@pytest.mark.parametrize(
    "setting, workers, depth, cause, advice, number",
    [
        (Setting([0.02] * 30, 0.006, 0.0), 0, 2, "take turns", "4</b> workers keep up", 4),
        (Setting([0.02] * 30, 0.006, 0.0), 3, 2, "loader", "4</b> workers keep up", 4),
        (Setting([0.02] * 30, 0.006, 0.0), 4, 2, "bottleneck itself", "quicker step", None),
        (Setting([0.02] * 30, 0.010, 0.0), 6, 2, "bottleneck itself", "2</b> would do", 2),
        (Setting([0.02] * 30, 0.010, 0.05), 6, 2, "start", "300 ms", 2),
        (Setting([0.2] * 30, 0.001, 0.0), 8, 2, "loader", "cheaper", 200),
        (Setting([0.01] * 20 + [2.0] + [0.01] * 9, 0.08, 0.0), 8, 8, "slow", "cheaper", None),
    ],
)
def test_what_holds_an_epoch_up_is_named_with_what_would_help(
    setting, workers, depth, cause, advice, number
):
    found, said = setting.diagnosis(workers, depth)
    assert cause in found and advice in said
    assert number is None or advised(said) == number


def test_deeper_is_the_advice_where_slow_batches_outlast_what_is_dealt_ahead_and_it_helps():
    setting = Setting(([0.02] * 12 + [0.08]) * 2 + [0.02] * 12, 0.009, 0.0)
    cause, advice = setting.diagnosis(3, 1)
    times = {depth: setting.run(3, depth).seconds for depth in DEPTHS}
    assert "slow batches" in cause and "Move the depth" in advice
    assert advised(advice) > 1 and times[advised(advice)] < 1.01 * min(times.values())
    assert times[advised(advice)] < 0.95 * times[1]
