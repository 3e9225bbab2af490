"""The error that is recorded is that of adding, and nothing else."""

import pytest

from course_utils.chapters.floating_point_formats.sums import error_of_adding, positive


@pytest.mark.parametrize("share", [1, 0.75])
def test_an_exact_product_errs_by_nothing_and_a_lost_share_is_found(share):
    a, b = positive(8, 16, "cpu"), positive(4, 16, "cpu")
    assert a.float().min() >= 0 and a.float().max() <= 1
    product = share * (a.double() @ b.double().t())
    assert error_of_adding(product, a, b) == pytest.approx(1 - share, abs=1e-12)
