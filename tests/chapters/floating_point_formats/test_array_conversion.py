"""What comes in, a number, an array or a tensor, is what goes out; all else is refused."""

import re

import numpy as np
import pytest
import torch

from course_utils.chapters.floating_point_formats.formats import FP16, FP32, FP64


def test_kinds_and_shapes_are_kept():
    assert isinstance(FP16.round(1), float) and isinstance(FP16.encode(1.0), int)
    array = np.ones((2, 1, 3))
    assert FP16.round(array).shape == (2, 1, 3) and FP16.encode(array).dtype == np.uint64
    tensor = torch.ones(2, 3, dtype=torch.bfloat16, requires_grad=True)
    assert FP16.round(tensor).shape == (2, 3) and FP16.encode(tensor).dtype == torch.int64
    assert FP16.round(torch.tensor(1.3)).shape == FP16.encode(torch.tensor(1.3)).shape == ()
    for fmt in (FP16, FP32, FP64):
        x = torch.tensor([-1.0, 0.5, -0.0])
        assert torch.equal(fmt.decode(fmt.encode(x)), x.double())


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
    with pytest.raises(TypeError, match="integer codes are wanted"):
        FP16.decode(1.0)
