"""Rooflines of recorded evidence; the widget follows the layer and the GPU."""

from course_utils.chapters.your_machine.roofline_figures import (
    Machine,
    draw_rooflines,
    recorded_machine,
    roofline_point,
)
from course_utils.core.evidence import Series


def test_the_widgets_point_crosses_the_ridge_and_its_dtypes_are_those_of_the_gpu():
    gpu, dtype, batch, n_in, n_out, picture, reading = roofline_point().children
    batch.value = 128
    before = picture.value
    assert "waits for <b>memory</b>" in reading.value and "from batch <b>230</b>" in reading.value
    batch.value = 256
    assert "waits for <b>compute</b>" in reading.value and picture.value != before
    n_in.value = n_out.value = 64
    assert "waits for <b>memory</b>" in reading.value and "at <b>no</b> batch" in reading.value
    dtype.value = "FP8"
    gpu.label = "A100 80 GB SXM"
    assert dtype.options == ("FP32", "TF32", "FP16", "BF16") and dtype.value in dtype.options


def test_a_recorded_machine_has_a_roof_for_each_format_and_its_copys_bandwidth():
    def kept(*rows):
        return Series.of_rows(list(rows), "recorded", "recorded: H200, torch 2.11.0")

    ran = {"operator": "matmul", "format": "BF16", "flops": 6e9, "n_bytes": 2e9, "seconds": 1e-3}
    rates = [{"format": "BF16", "flop_per_s": 7e14}, {"format": "FP32", "flop_per_s": 5e13}]
    copies = [{"way": "host to host", "gb_per_s": 9.0}, {"way": "within a device", "gb_per_s": 2e3}]
    machine = recorded_machine(kept(ran), kept(*rates), kept(*copies))
    assert machine.roofs == {"matmul, BF16": 7e14, "matmul, FP32": 5e13}
    assert machine.bytes_per_s == 4e12 and machine.named == {"matmul": (3.0, 6e12)}
    assert isinstance(machine, Machine) and draw_rooflines("Recorded", machine).png
    assert recorded_machine(kept(ran), kept(*rates), None) is None
    assert recorded_machine(kept(ran), kept(*rates), kept(copies[0])) is None
