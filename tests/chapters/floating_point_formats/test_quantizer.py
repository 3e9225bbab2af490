"""The quick quantiser is the slow one, bit for bit."""

import numpy as np
import pytest
import torch

from course_utils.chapters.floating_point_formats.formats import ALL, E2M1, E4M3, E8M0
from course_utils.chapters.floating_point_formats.quantizer import quantize
from tests.chapters.floating_point_formats.oracles import boundaries, named


@pytest.mark.parametrize("fmt", [f for f in ALL if f is not E8M0], **named)
def test_the_quick_quantiser_is_bit_equal_to_gfloat(fmt):
    patterns = np.random.default_rng(3).integers(0, 2**32, 200_000, dtype=np.uint32)
    x = patterns.view(np.float32)
    edges = boundaries(fmt).astype(np.float32) if fmt.k <= 16 else []
    x = np.concatenate([x[~np.isnan(x)], edges, [np.inf, -np.inf, 0.0, -0.0]]).astype(np.float32)
    largest = float(np.finfo(np.float32).max)  # FP64's is no float32
    want = np.clip(fmt.round(x, overflow="saturate"), -largest, largest)
    got = quantize(torch.from_numpy(x), fmt).numpy()
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(np.signbit(got), np.signbit(want))


def test_nan_stays_nan_and_what_cannot_be_quantised_is_refused():
    assert torch.isnan(quantize(torch.tensor([torch.nan]), E2M1)).all()
    with pytest.raises(TypeError, match="wants a tensor of float32 or float64"):
        quantize(torch.ones(2).half(), E4M3)
    with pytest.raises(ValueError, match="holds scales, not values"):
        quantize(torch.ones(2), E8M0)
