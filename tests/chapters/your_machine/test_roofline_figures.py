"""Rooflines of recorded evidence; the widget follows the layer and the GPU."""

from course_utils.chapters.your_machine.roofline_figures import (
    Machine,
    draw_rooflines,
    recorded_machine,
    roofline_point,
)
from course_utils.core.evidence import Series
from course_utils.core.gpus import gpu_specs


def test_the_widgets_point_crosses_the_ridge_and_its_dtypes_are_those_of_the_gpu():
    gpu, dtype, batch, n_in, n_out, picture, reading = roofline_point().children
    batch.value = 128
    before = picture.value
    assert "waits for <b>memory</b>" in reading.value and "from batch <b>345</b>" in reading.value
    batch.value = 512
    assert "waits for <b>compute</b>" in reading.value and picture.value != before
    n_in.value = n_out.value = 64
    assert "waits for <b>memory</b>" in reading.value and "at <b>no</b> batch" in reading.value
    dtype.value = "FP8"
    gpu.label = "A100 80 GB SXM"
    assert dtype.options == ("FP32", "TF32", "FP16", "BF16") and dtype.value in dtype.options


def test_a_recorded_machine_has_the_data_sheets_roofs_above_its_operators():
    ran = {"operator": "matmul", "format": "BF16", "flops": 6e9, "n_bytes": 2e9, "seconds": 1e-3}
    kept = Series.of_rows([ran, ran | {"operator": "matmul 256"}], "recorded", "recorded: here")
    machine = recorded_machine(gpu_specs("H100 SXM"), kept)
    assert machine.roofs == {"data sheet, BF16": 989e12, "data sheet, FP32": 67e12}
    assert machine.bytes_per_s == 3.35e12 and machine.points == {"matmul": (3.0, 6e12)}
    assert isinstance(machine, Machine) and draw_rooflines("Recorded", machine).png
    assert recorded_machine(gpu_specs("H100 SXM"), None).points == {}
