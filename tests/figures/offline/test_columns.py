"""Columns of a page: packed and unpacked they are the same numbers."""

import numpy as np
import pytest

from course_utils.figures.offline.columns import Columns
from tests.support.offline_pages import column


@pytest.mark.parametrize("largest", [0, 1, 255, 256, 2**32 - 1, 2**32, 2**53, 2**63 - 1])
def test_a_column_comes_back_whatever_its_largest_number(largest):
    columns = Columns()
    columns.add(np.arange(5))
    values = np.array([0, largest, 1, largest // 2], np.int64)
    place = columns.add(values)
    assert (column(place, columns.together()) == values).all()


def test_an_empty_column_comes_back_empty():
    columns = Columns()
    assert len(column(columns.add(np.empty(0)), columns.together())) == 0
