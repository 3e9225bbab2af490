"""The format of scales against its specification, torch and ml_dtypes."""

import math

import ml_dtypes
import numpy as np
import pytest
import torch

from course_utils.chapters.floating_point_formats.formats import E8M0


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
