"""The quick quantiser is the slow one, bit for bit."""

import math
import re

import numpy as np
import pytest
import torch

from course_utils.chapters.floating_point_formats.formats import ALL, E2M1, E4M3, E8M0
from course_utils.chapters.floating_point_formats.quantizer import quantize
from tests.chapters.floating_point_formats.oracles import boundaries, named


def random_float32(count=1_000_000):
    patterns = np.random.default_rng(3).integers(0, 2**32, count, dtype=np.uint32)
    x = patterns.view(np.float32)
    return x[~np.isnan(x)]


def same_bits(got, want):
    np.testing.assert_array_equal(got, want)
    zero = want == 0
    np.testing.assert_array_equal(np.signbit(got[zero]), np.signbit(want[zero]))


@pytest.mark.parametrize("fmt", [f for f in ALL if f is not E8M0], **named)
def test_the_quick_quantiser_is_bit_equal_to_gfloat(fmt):
    x = np.append(random_float32(), np.array([np.inf, -np.inf, 0.0, -0.0], np.float32))
    if fmt.k <= 16:
        x = np.concatenate([x, boundaries(fmt).astype(np.float32)])
    want = fmt.round(x, overflow="saturate")
    largest = float(np.finfo(np.float32).max)  # FP64's is no float32
    want = np.clip(want, -largest, largest)
    same_bits(quantize(torch.from_numpy(x), fmt).numpy(), want)


def test_the_quick_quantiser_keeps_nan():
    assert torch.isnan(quantize(torch.tensor([math.nan]), E2M1)).all()


@pytest.mark.parametrize(
    "call, error, says",
    [
        (
            lambda: quantize(torch.ones(2).half(), E4M3),
            TypeError,
            "wants a tensor of float32 or float64",
        ),
        (lambda: quantize(torch.ones(2), E8M0), ValueError, "holds scales, not values"),
    ],
)
def test_what_the_quick_quantiser_cant_do_it_says(call, error, says):
    with pytest.raises(error, match=re.escape(says)):
        call()
