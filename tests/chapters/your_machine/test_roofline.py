"""The roof, the time it predicts, and the batch at which a layer turns."""

import math

import pytest

from course_utils.chapters.your_machine import operations
from course_utils.chapters.your_machine.roofline import SIZES, Roof, gpu_roof, layer, turning_batch
from course_utils.chapters.your_machine.roofline_widget import dtypes
from course_utils.core.evidence import published
from course_utils.core.gpus import GPUS, gpu_specs

ROOF = Roof(100e9, 10e9, 5e-6)


def test_left_of_the_ridge_memory_decides_and_right_of_it_the_peak():
    assert ROOF.ridge == 10
    assert ROOF.attainable(5) == 50e9
    assert ROOF.attainable(10) == ROOF.attainable(1e6) == 100e9


def test_a_time_has_three_parts_a_sum_and_a_maximum():
    some = operations.Work(flops=1_000_000, n_bytes=200_000)
    assert ROOF.parts(some) == {"memory": 20e-6, "math": 10e-6, "latency": 5e-6}
    assert ROOF.sum_seconds(some) == pytest.approx(35e-6)
    assert ROOF.max_seconds(some) == pytest.approx(25e-6)


@pytest.mark.parametrize(
    "flops, moved, waits", [(10**9, 1, "compute"), (1, 10**9, "memory"), (1, 1, "overhead")]
)
def test_the_longest_part_is_what_an_operator_waits_for(flops, moved, waits):
    assert ROOF.waits_for(operations.Work(flops, moved)) == waits


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


def test_an_h200_needs_230_lines_for_a_layer_of_4096_in_bf16():
    roof = gpu_roof(gpu_specs("H200"), "BF16")
    assert turning_batch(4096, 4096, 2, roof.flop_per_s, roof.bytes_per_s) == 230


def test_a_dtype_that_a_gpu_lacks_is_refused_with_what_to_do():
    with pytest.raises(ValueError, match="T4 has no unit for BF16; choose another"):
        gpu_roof(gpu_specs("T4"), "BF16")
    with pytest.raises(ValueError, match="no rate is kept for 'FP4'; there are FP32"):
        gpu_roof(gpu_specs("T4"), "FP4")


FP32_OF = {"A100 40GB": "A100 40 GB SXM", "A100 80GB": "A100 80 GB SXM"}


def sheet(gpu):
    return gpu_specs(FP32_OF.get(gpu, gpu))


def test_what_others_measured_stays_below_the_data_sheets():
    """An edited or misread number in data/published would stand out here."""
    for row in published("gpu_roofline").rows:
        roof = gpu_roof(sheet(row["gpu"]), "FP32")
        assert row["gflop_per_s"] * 1e9 < roof.attainable(row["flop_per_byte"])
        assert row["gflop_per_s"] == pytest.approx(row["gb_per_s"] * row["flop_per_byte"], rel=0.01)
        assert row["watts"] < 700 and 1000 < row["mhz"] < 2500
    for row in published("gpu_stream").rows:
        rates = [rate for name, rate in row.items() if name.endswith("gb_per_s")]
        assert max(rates) < sheet(row["gpu"]).memory_gb_per_s
    for row in published("gpu_latency").rows:
        assert 15e-9 < row["seconds"] < 500e-9
