"""An operator's work, the roof, and the batch at which a layer becomes compute-bound."""

import math

import pytest
import torch
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from course_utils.chapters.your_machine.roofline import (
    SIZES,
    Roof,
    Work,
    gpu_roof,
    layer,
    layer_norm_work,
    matmul_work,
    turning_batch,
)
from course_utils.chapters.your_machine.roofline_figures import dtypes
from course_utils.core.gpus import GPUS, gpu_specs

ROOF = Roof(100e9, 10e9, 5e-6)


def test_memory_decides_left_of_the_ridge_and_the_peak_right_of_it():
    assert ROOF.ridge == 10
    assert ROOF.attainable(5) == 50e9
    assert ROOF.attainable(10) == ROOF.attainable(1e6) == 100e9
    some = Work(flops=1_000_000, n_bytes=200_000)
    assert ROOF.parts(some) == {"memory": 20e-6, "math": 10e-6, "latency": 5e-6}
    longest = {(10**9, 1): "compute", (1, 10**9): "memory", (1, 1): "overhead"}
    assert {work: ROOF.waits_for(Work(*work)) for work in longest} == longest


@pytest.mark.parametrize("rates", [(0, 1), (1, 0), (-1, 1), (1, 1, -1), (math.nan, 1)])
def test_a_roof_of_nonsense_is_refused(rates):
    with pytest.raises(ValueError, match="positive rates and a latency from 0"):
        Roof(*rates)


@pytest.mark.parametrize("specs", GPUS, ids=lambda s: s.title)
@pytest.mark.parametrize("n_in, n_out", [(4096, 4096), (512, 8192), (64, 64)])
def test_the_turning_batch_is_the_first_at_which_math_takes_longer(specs, n_in, n_out):
    for dtype in dtypes(specs):
        roof, size = gpu_roof(specs, dtype), SIZES[dtype]
        batch = turning_batch(n_in, n_out, size, roof.flop_per_s, roof.bytes_per_s)

        def computes(b, roof=roof, size=size):
            parts = roof.parts(layer(b, n_in, n_out, size))
            return parts["math"] >= parts["memory"] * (1 - 1e-12)

        if batch is None:
            assert not computes(10**9)
        else:
            assert computes(batch) and (batch == 1 or not computes(batch - 1))


def test_a_dtype_that_a_gpu_lacks_is_refused_with_what_to_do():
    with pytest.raises(ValueError, match="T4 has no unit for BF16; choose another"):
        gpu_roof(gpu_specs("T4"), "BF16")
    with pytest.raises(ValueError, match="no rate is kept for 'FP4'; there are FP32"):
        gpu_roof(gpu_specs("T4"), "FP4")


def n_bytes(*tensors):
    return sum(tensor.nbytes for tensor in tensors)


@pytest.mark.parametrize("m, k, n", [(1, 7, 1), (64, 64, 64), (3, 50, 9)])
def test_a_matmul_has_torchs_flops_and_its_tensors_bytes(m, k, n):
    a, b = torch.ones(m, k), torch.ones(k, n)
    with FlopCounterMode(display=False) as counter:
        product = a @ b
    found = matmul_work(m, k, n, 4)
    assert (found.flops, found.n_bytes) == (counter.get_total_flops(), n_bytes(a, b, product))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_layer_norm_reads_and_writes_its_tensors_once_and_counts_as_by_hand(dtype):
    x, w = torch.randn(6, 16, dtype=dtype), torch.ones(16, dtype=dtype)
    found = layer_norm_work(6, 16, dtype.itemsize)
    assert found.n_bytes == n_bytes(x, w, w, F.layer_norm(x, (16,), w, w))
    mean, variance, scaled = 1, 3, 4  # an addition; −, ·, +; −, ·, · weight, + bias
    assert found.flops == 6 * 16 * (mean + variance + scaled)
