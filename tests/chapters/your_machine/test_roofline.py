"""The roof, the time it predicts, and the batch at which a layer turns."""

import math

import pytest

from course_utils.chapters.your_machine import operations
from course_utils.chapters.your_machine.roofline import SIZES, Roof, gpu_roof, layer, turning_batch
from course_utils.chapters.your_machine.roofline_widget import dtypes
from course_utils.core.gpus import GPUS, gpu_specs

ROOF = Roof(100e9, 10e9, 5e-6)


def test_memory_decides_left_of_the_ridge_and_the_peak_right_of_it():
    assert ROOF.ridge == 10
    assert ROOF.attainable(5) == 50e9
    assert ROOF.attainable(10) == ROOF.attainable(1e6) == 100e9
    some = operations.Work(flops=1_000_000, n_bytes=200_000)
    assert ROOF.parts(some) == {"memory": 20e-6, "math": 10e-6, "latency": 5e-6}
    assert ROOF.sum_seconds(some) == pytest.approx(35e-6)
    assert ROOF.max_seconds(some) == pytest.approx(25e-6)
    longest = {(10**9, 1): "compute", (1, 10**9): "memory", (1, 1): "overhead"}
    assert {work: ROOF.waits_for(operations.Work(*work)) for work in longest} == longest


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
