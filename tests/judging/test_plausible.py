"""What can't be is objected to: rates above a data sheet, more bytes than a GPU has."""

import pytest

from course_utils.judging import offering
from course_utils.judging.judge import judge
from tests.support.recordings import GOOD

TOO_MUCH = {
    "rates": ({"format": "FP16", "tflop_per_s": 1100}, "is above the 1009 of a H200"),
    "rates in FP8": ({"format": "FP8 E4M3", "tflop_per_s": 2100}, "dense peak in FP8 E4M3"),
    "rates with sparsity": ({"format": "BF16", "tflop_per_s": 1979}, "dense peak in BF16"),
    "rates in INT4": ({"format": "INT4", "tflop_per_s": 2100}, "the data sheet's highest"),
    "flops": ({"format": "TF32", "n": 4096, "flop_per_s": 6e14}, "dense peak in TF32"),
    "copies": ({"way": "pinned", "gb_per_s": 65.0}, "PCIe 5 x16, its link to the host"),
    "host_device_copies": (
        {"way": "device to host", "gb_per_s": 70.0, "n_bytes": 2**27},
        "its link to the host",
    ),
    "host_device_copies within": (
        {"way": "within a device", "gb_per_s": 4800.0, "n_bytes": 2**31},
        "what its memory delivers",
    ),
    "host_device_copies between": (
        {"way": "device to device", "gb_per_s": 500.0, "n_bytes": 2**31},
        "NVLink 4, its link to other GPUs",
    ),
    "stream": ({"operation": "triad (GPU)", "gb_per_s": 9000.0}, "what its memory delivers"),
    "roofline_points": (
        GOOD["roofline_points"][0] | {"seconds": 1e-4},
        "n_bytes/seconds 1.074e+13 is above",
    ),
    "roofline_points, flat": (
        {"operator": "p", "format": "BF16", "flops": 2**40, "n_bytes": 9, "seconds": 0.001},
        "flops/seconds 1.1e+15 is above",
    ),
    "roofline_points, at once": (
        GOOD["roofline_points"][0] | {"seconds": 0.0},
        "flops/seconds inf is above",
    ),
    "nccl_allreduce": ({"gpus": 2, "n_bytes": 2**30, "seconds": 1e-3}, "its link to other GPUs"),
    "peaks": ({"model": "s", "peak_bytes": 2 * 10**11, "outside_mib": 1}, "more than the GPU's"),
    "peaks in MiB": ({"model": "s", "peak_bytes": 1, "outside_mib": 2**18}, "outside_mib 262,144"),
}


@pytest.mark.parametrize("name", TOO_MUCH)
def test_what_cannot_be_is_objected_to(keep, name):
    row, says = TOO_MUCH[name]
    (objection, *_) = judge(keep(name.split()[0].strip(","), [row]))
    assert says in objection and "row 1: " in objection


def test_boards_with_pcie_may_have_a_bridge_to_their_neighbour(keep, fake_machine):
    fake_machine(gpus=2, gpu="NVIDIA A100 80GB PCIe")
    row = {"way": "device to device", "gb_per_s": 250.0, "n_bytes": 2**31}
    assert judge(keep("host_device_copies", [row])) == []


def test_geforce_boards_may_boost_past_their_data_sheet(keep, fake_machine):
    fake_machine(gpus=1, gpu="NVIDIA GeForce RTX 3090")
    assert judge(keep("rates", [{"format": "BF16", "tflop_per_s": 78.0}])) == []
    assert judge(keep("rates", [{"format": "BF16", "tflop_per_s": 142.0}]))


def test_a_gpu_without_a_known_data_sheet_is_no_objection_and_is_said(keep, fake_machine):
    fake_machine(gpus=1, gpu="NVIDIA Z900")
    path = keep("rates", [{"format": "BF16", "tflop_per_s": 1e6}])
    assert judge(path) == []
    lines, objected = offering.verdict(path)
    assert not objected and "'NVIDIA Z900' aren't in data/gpus.toml" in lines[0]
    assert lines[1:] == ["1 file, no objection"]


def test_a_processor_has_no_data_sheet_to_be_judged_by(keep, fake_machine):
    fake_machine(gpus=0)
    assert judge(keep("rates", [{"format": "FP32", "tflop_per_s": 1e6}])) == []
