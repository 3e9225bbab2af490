"""Columns of a page: packed and unpacked they are the same numbers."""

import numpy as np
import pytest

from snapshots_and_traces.offline.columns import Columns
from snapshots_and_traces.tests.support.offline_pages import column


@pytest.mark.parametrize("largest", [None, 0, 255, 256, 2**32 - 1, 2**32, 2**53, 2**63 - 1])
def test_a_column_comes_back_whatever_its_largest_number_and_an_empty_one_empty(largest):
    columns = Columns()
    columns.add(np.arange(5))
    values = np.array([] if largest is None else [0, largest, 1, largest // 2], np.int64)
    place = columns.add(values)
    np.testing.assert_array_equal(column(place, columns.together()), values)
