"""FLOPs and bytes of operators, against torch's counter, real tensors and counting by hand."""

import math

import pytest
import torch
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from course_utils.chapters.your_machine import operations


def counted(call):
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        call()
    return counter.get_total_flops()


def n_bytes(*tensors):
    return sum(tensor.nbytes for tensor in tensors)


@pytest.mark.parametrize("m, k, n", [(1, 7, 1), (64, 64, 64), (3, 50, 9)])
def test_a_product_has_torchs_flops_and_its_tensors_bytes(m, k, n):
    a, b = torch.ones(m, k), torch.ones(k, n)
    found = operations.product(m, k, n, 4)
    assert (found.flops, found.n_bytes) == (counted(lambda: a @ b), n_bytes(a, b, a @ b))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_layer_norms_bytes_are_those_of_the_tensors_read_and_written(dtype):
    x, w = torch.randn(6, 16, dtype=dtype), torch.ones(16, dtype=dtype)
    norm = F.layer_norm(x, (16,), w, w)
    assert operations.layer_norm(6, 16, dtype.itemsize).n_bytes == n_bytes(x, w, w, norm)


def test_flops_written_out_by_hand_are_as_many():
    """Each operation of a row of 4 numbers, one by one."""
    count = 0

    def op(value):
        nonlocal count
        count += 1
        return value

    row = [1.0, 2.0, 4.0, 9.0]
    mean = total = 0.0
    for x in row:
        mean = op(mean + x)
    mean /= 4
    for x in row:
        off = op(x - mean)
        square = op(off * off)
        total = op(total + square)
    scale = 1 / math.sqrt(total / 4 + 1e-5)
    out = [op(op(op(op(x - mean) * scale) * 1.0) + 0.0) for x in row]
    assert torch.allclose(torch.tensor(out), F.layer_norm(torch.tensor(row), (4,)))
    assert count == operations.layer_norm(1, 4, 4).flops


def test_a_bf16_product_of_8192_has_2731_flop_a_byte_and_not_256():
    intensity = operations.product(8192, 8192, 8192, 2).intensity
    assert intensity == pytest.approx(8192 / 3) and round(intensity) == 2731
