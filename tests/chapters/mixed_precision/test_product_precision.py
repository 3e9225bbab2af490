"""A setting for FP32 products holds for a block, and goes with it where the block fails."""

import pytest
import torch

from course_utils.chapters.mixed_precision import at_precision


def test_the_setting_is_as_before_even_after_an_error():
    products = torch.backends.mkldnn.matmul
    before = products.fp32_precision
    with pytest.raises(ValueError, match="no memory"), at_precision(products, "bf16"):
        assert products.fp32_precision == "bf16"
        raise ValueError("no memory")
    assert products.fp32_precision == before
