"""FLOPs and bytes of operators, against torch's counter, real tensors and counting by hand."""

import pytest
import torch
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from course_utils.chapters.your_machine import operations


def n_bytes(*tensors):
    return sum(tensor.nbytes for tensor in tensors)


@pytest.mark.parametrize("m, k, n", [(1, 7, 1), (64, 64, 64), (3, 50, 9)])
def test_a_product_has_torchs_flops_and_its_tensors_bytes(m, k, n):
    a, b = torch.ones(m, k), torch.ones(k, n)
    with FlopCounterMode(display=False) as counter:
        product = a @ b
    found = operations.product(m, k, n, 4)
    assert (found.flops, found.n_bytes) == (counter.get_total_flops(), n_bytes(a, b, product))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_layer_norm_reads_and_writes_its_tensors_once_and_counts_as_by_hand(dtype):
    x, w = torch.randn(6, 16, dtype=dtype), torch.ones(16, dtype=dtype)
    found = operations.layer_norm(6, 16, dtype.itemsize)
    assert found.n_bytes == n_bytes(x, w, w, F.layer_norm(x, (16,), w, w))
    mean, variance, scaled = 1, 3, 4  # an addition; −, ·, +; −, ·, · weight, + bias
    assert found.flops == 6 * 16 * (mean + variance + scaled)
