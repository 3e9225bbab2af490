"""What steps of real size say: nothing of what wasn't timed, and with units of what was."""

import math

import pytest

from course_utils.chapters.data_parallelism import real_results
from course_utils.chapters.data_parallelism.real_results import (
    buckets_over_one,
    first_over_others,
    shown,
    small_batch,
    worst,
)


def test_what_was_not_timed_holds_no_claim_and_what_was_has_units(monkeypatch):
    assert 0 < small_batch([]) < 1  # of what an H100 recorded
    monkeypatch.setattr(real_results, "_kept", lambda _experiment: [])
    assert math.isnan(worst([], "seconds")) and math.isnan(first_over_others([]))
    assert math.isnan(buckets_over_one([])) and small_batch([]) is None
    rows = [{"way": "DDP", "gpus": 2, "seconds": 0.0123, "first_bytes": 2_000_000_000}]
    assert shown(rows) == [
        {"way": "DDP", "gpus": 2, "seconds": "≈ 12.3 ms", "first_bytes": "≈ 2.00 GB"}
    ]


def test_ratios_are_of_the_rows_they_name():
    both = [
        {"way": "DDP", "first_bytes": 1, "other_bytes": 1},
        {"way": "DataParallel", "first_bytes": 3, "other_bytes": 2},
    ]
    overlap = [
        {"way": "buckets of 25 MiB", "seconds": 1.0},
        {"way": "one bucket", "seconds": 2.0},
    ]
    rows = [{"gpus": 1, "batch": b, "images_per_s": r} for b, r in ((256, 1000), (32, 500))]
    assert first_over_others(both) == 1.5 and buckets_over_one(overlap) == 0.5
    assert small_batch(rows) == pytest.approx(0.25)
    assert worst([{"x": 1}, {"x": 3}], "x") == 3
