"""What comes in, a number, an array or a tensor, is what goes out; all else is refused."""

import re

import numpy as np
import pytest
import torch

from course_utils.chapters.floating_point_formats.formats import FP16


def test_kinds_and_shapes_are_kept():
    assert isinstance(FP16.round(1), float) and isinstance(FP16.encode(1.0), int)
    assert FP16.round(np.ones((2, 1, 3))).shape == (2, 1, 3)
    tensor = torch.ones(2, 3, dtype=torch.bfloat16, requires_grad=True)
    assert FP16.round(tensor).shape == (2, 3) and FP16.round(tensor).dtype == torch.float64
    assert FP16.round(torch.tensor(1.3)).shape == ()


@pytest.mark.parametrize(
    "given, error, says",
    [
        ("1.5", TypeError, "real numbers are wanted, not str '1.5'"),
        ([1.5], TypeError, "a number, a numpy array or a torch tensor"),
        (np.ones((2, 0)), ValueError, "the shape given is (2, 0)"),
        (torch.ones(2) > 0, TypeError, "not Tensor tensor([True, True])"),
    ],
)
def test_what_isnt_real_numbers_gets_a_clear_error(given, error, says):
    with pytest.raises(error, match=re.escape(says)):
        FP16.round(given)
