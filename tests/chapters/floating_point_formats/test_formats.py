"""The course's formats against their specifications, and formats of the reader's own."""

import math
import re

import ml_dtypes
import numpy as np
import pytest
import torch

from course_utils.chapters.floating_point_formats.formats import E5M2, E8M0, FP16, make
from tests.chapters.floating_point_formats.oracles import oracle_values


def test_the_scale_format_has_no_zero_no_sign_and_no_invalid_codes():
    assert E8M0.encode(np.array([1.0, 2.0, 2.0**-127])).tolist() == [127, 128, 0]
    assert E8M0.round(2.0**-140) == 2.0**-127
    assert math.isnan(E8M0.round(0.0)) and E8M0.round(0.0, overflow="saturate") == 2.0**-127
    assert math.isnan(E8M0.round(-1.0)) and E8M0.encode(-1.0) == 255
    with pytest.raises(ValueError, match="E8M0 scale has no sign: -1 can't be held"):
        E8M0.round(-1.0, overflow="saturate")


def test_the_scale_format_rounds_as_torch_and_ml_dtypes_do_ties_too():
    ties = np.ldexp(1.5, np.arange(-127, 128)).astype(np.float32)
    drawn = np.random.default_rng(0).uniform(1, 2, 10_000).astype(np.float32)
    x = np.concatenate([ties, 8 * drawn])
    theirs = x.astype(ml_dtypes.float8_e8m0fnu).astype(np.float64)
    np.testing.assert_array_equal(E8M0.round(x), theirs)
    in_torch = torch.from_numpy(x).to(torch.float8_e8m0fnu).view(torch.uint8)
    np.testing.assert_array_equal(E8M0.encode(x), in_torch.numpy())


def test_a_format_of_ones_own_is_ieee_like():
    np.testing.assert_array_equal(make(16, 11).decode(np.arange(2**16)), oracle_values(FP16))
    np.testing.assert_array_equal(make(8, 3).decode(np.arange(256)), oracle_values(E5M2))
    widest = make(14, 4)  # ten bits of exponent: every value is a float64
    assert widest.round(widest.max) == widest.max > 1e150 and widest.min_subnormal > 0
    assert make(6, 3, bias=5).max == make(6, 3, bias=3).max / 4


@pytest.mark.parametrize(
    "k, precision, more, says",
    [
        (2, 2, {}, "k is a whole number of bits from 3 to 32"),
        (8, 8, {}, "precision is from 2 to 7 bits for k = 8"),
        (14, 2, {}, "precision is from 4 to 13 bits for k = 14"),
        (8, 4, {"bias": 1000}, "bias is within 60 of 7"),
    ],
)
def test_a_format_that_cant_be_is_refused_with_what_can(k, precision, more, says):
    with pytest.raises(ValueError, match=re.escape(says)):
        make(k, precision, **more)
