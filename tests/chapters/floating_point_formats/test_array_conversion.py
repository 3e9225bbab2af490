"""What comes in, a number, an array or a tensor, is what goes out; all else is refused."""

import re

import numpy as np
import pytest
import torch

from course_utils.chapters.floating_point_formats.formats import FP16, FP32, FP64
from course_utils.chapters.floating_point_formats.quantizer import quantize


def test_kinds_and_shapes_are_kept():
    assert isinstance(FP16.round(1), float) and isinstance(FP16.encode(1.0), int)
    array = np.ones((2, 1, 3))
    assert FP16.round(array).shape == (2, 1, 3) and FP16.encode(array).dtype == np.uint64
    tensor = torch.ones(2, 3, dtype=torch.bfloat16, requires_grad=True)
    assert FP16.round(tensor).shape == (2, 3) and FP16.encode(tensor).dtype == torch.int64
    assert FP16.decode(FP16.encode(tensor)).dtype == torch.float64
    assert FP16.round(torch.tensor(1.3)).shape == FP16.encode(torch.tensor(1.3)).shape == ()


@pytest.mark.parametrize("kind", [np.uint64, np.int64, ">i8", ">u8"])
def test_fp64s_codes_are_read_from_every_integer_type(kind):
    values = np.array([1.0, -0.0, 5e-324, -3.5])
    codes = values.view(np.int64).astype(kind)
    np.testing.assert_array_equal(FP64.decode(codes).view(np.int64), values.view(np.int64))
    assert FP64.decode(np.array([1], dtype=np.uint8)) == FP64.decode(np.array([1], "i4")) == 5e-324


def test_codes_of_a_tensor_are_read_back_in_every_format():
    for fmt in (FP16, FP32, FP64):
        x = torch.tensor([-1.0, 0.5, -0.0])
        assert torch.equal(fmt.decode(fmt.encode(x)), x.double())


def test_a_whole_number_is_rounded_once_or_refused():
    assert FP32.round(2**60) == 2.0**60 and FP32.round(np.array([2**62])) == 2.0**62
    twice = 2**60 + 2**36 + 1  # above the middle of two FP32 numbers; as a float64 in the middle
    for number in (twice, np.array([twice]), torch.tensor([twice]), 10**400):
        with pytest.raises(ValueError, match="is no float64, so it would be rounded twice"):
            FP32.round(number)


@pytest.mark.parametrize(
    "call, error, says",
    [
        (lambda: FP16.round("1.5"), TypeError, "real numbers are wanted, not str '1.5'"),
        (lambda: FP16.round([1.5]), TypeError, "a number, a numpy array or a torch tensor"),
        (lambda: FP16.round(np.ma.array([1.0, 2.0], mask=[0, 1])), TypeError, "x.filled(…)"),
        (lambda: quantize([1.5], FP16), TypeError, "a tensor of float32 or float64, not list"),
        (lambda: FP64.decode(-1), ValueError, "-1 is none of them"),
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
