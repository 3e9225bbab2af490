"""What comes in, a number, an array or a tensor, is what goes out; all else is refused."""

import re

import numpy as np
import pytest
import torch

from course_utils.chapters.floating_point_formats.formats import FP16


def test_kinds_and_shapes_are_kept():
    assert isinstance(FP16.round(1), float) and isinstance(FP16.encode(1.0), int)
    array = np.ones((2, 1, 3))
    assert FP16.round(array).shape == (2, 1, 3) and FP16.encode(array).dtype == np.uint64
    tensor = torch.ones(2, 3, dtype=torch.bfloat16, requires_grad=True)
    assert FP16.round(tensor).shape == (2, 3) and FP16.encode(tensor).dtype == torch.int64
    assert FP16.decode(FP16.encode(tensor)).dtype == torch.float64


@pytest.mark.parametrize(
    "call, error, says",
    [
        (lambda: FP16.round("1.5"), TypeError, "real numbers are wanted, not str '1.5'"),
        (lambda: FP16.round([1.5]), TypeError, "a number, a numpy array or a torch tensor"),
        (lambda: FP16.round(np.ones((2, 0))), ValueError, "the shape given is (2, 0)"),
        (lambda: FP16.round(torch.ones(0)), ValueError, "at least one number is wanted"),
        (lambda: FP16.round(torch.float16), TypeError, "real numbers are wanted"),
        (lambda: FP16.round(None), TypeError, "real numbers are wanted"),
        (lambda: FP16.round(1j), TypeError, "real numbers are wanted"),
        (lambda: FP16.round(torch.ones(2) > 0), TypeError, "not Tensor tensor([True, True])"),
        (lambda: FP16.round(torch.ones(2) * 1j), TypeError, "real numbers are wanted"),
        (lambda: FP16.decode(torch.ones(2)), TypeError, "integer codes are wanted"),
        (lambda: FP16.decode(1.0), TypeError, "integer codes are wanted"),
    ],
)
def test_what_isnt_numbers_of_that_kind_gets_a_clear_error(call, error, says):
    with pytest.raises(error, match=re.escape(says)):
        call()
