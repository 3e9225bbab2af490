"""A measurement is a number with its spread, and can be shared out over what was done."""

import pytest

from course_utils.core.measurement import Measurement

pytestmark = pytest.mark.without_torch


def test_a_measurement_of_many_things_is_that_of_one_times_their_number():
    many = Measurement((4e-6, 8e-6), 3, 0.1, "host")
    assert many.per(4) == Measurement((1e-6, 2e-6), 3, 0.1, "host")
