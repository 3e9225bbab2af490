"""A measurement is a number with its spread, readable, and can be shared out over what was done."""

import json
import pickle

import pytest

from course_utils.core.measurement import Measurement, format_seconds

pytestmark = pytest.mark.without_torch


@pytest.mark.parametrize(
    "seconds, text",
    [(0.0123, "≈ 12.3 ms"), (4e-6, "≈ 4 µs"), (3e-8, "≈ 30 ns"), (0, "≈ 0 ns"), (0.9999, "≈ 1 s")],
)
def test_seconds_are_written_in_a_readable_unit(seconds, text):
    assert format_seconds(seconds) == text


def test_median_quartiles_and_count_are_those_of_the_repetitions():
    m = Measurement((1.0, 2.0, 3.0, 4.0, 100.0), 7, 0.5, "host")
    assert (m.q1, m.median, m.q3, m.n) == (2.0, 3.0, 4.0, 5)
    assert "kept ≈ 5 of ≈ 7" in str(m)
    assert m.per(4) == Measurement((0.25, 0.5, 0.75, 1.0, 25.0), 7, 0.5, "host")


def test_a_ratio_is_a_number_that_remembers_who_disturbed_it_and_travels_as_a_plain_one():
    ratio = Measurement((6.0,), 1, 0.2, "host") / Measurement((2.0,), 1, None, "host")
    assert ratio == 3 and ratio.others == 0.2
    assert json.dumps(ratio) == "3.0"
    assert type(pickle.loads(pickle.dumps(ratio))) is float
