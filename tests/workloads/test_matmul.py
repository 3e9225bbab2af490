"""Products in each format: rounded inputs, the units of a GPU, the switch put back."""

import pytest
import torch

from course_utils.workloads import matmul
from course_utils.workloads.matmul import (
    Product,
    explain_formats,
    formats_of,
    product,
    published_rates,
)


def test_a_product_is_that_of_its_rounded_inputs():
    for name, dtype in (("FP32", torch.float32), ("BF16", torch.bfloat16)):
        multiply = product(name, 16)
        want = multiply.a.to(dtype).double() @ multiply.b.to(dtype).double()
        torch.testing.assert_close(multiply().double(), want, rtol=2**-7, atol=2**-5)


@pytest.mark.parametrize(
    "name, why", [("FP12", "there are FP32"), ("TF32", "want a CUDA GPU of capability 8.0 or more")]
)
def test_a_product_that_cannot_be_says_why(name, why):
    with pytest.raises(ValueError, match=why):
        product(name, 16)


def test_a_product_in_fp8_is_that_of_its_rounded_inputs():
    a, b = torch.randn(2, 32, 32)
    want = a.to(torch.float8_e4m3fn).float() @ b.to(torch.float8_e4m3fn).float()
    torch.testing.assert_close(matmul._fp8(a, b)().float(), want, rtol=2**-7, atol=2**-5)


GPUS = {
    "T4": ((7, 5), ["FP32", "FP16"]),
    "A100": ((8, 0), ["FP32", "TF32", "FP16", "BF16"]),
    "RTX 3090": ((8, 6), ["FP32", "TF32", "FP16", "BF16"]),
    "L4": ((8, 9), list(matmul.DTYPES)),
    "H200": ((9, 0), list(matmul.DTYPES)),
    "B200": ((10, 0), list(matmul.DTYPES)),
}


@pytest.mark.parametrize("name", GPUS)
def test_a_gpu_multiplies_in_the_formats_it_has_units_for(a_gpu_of, name):
    capability, formats = GPUS[name]
    assert formats_of(a_gpu_of(capability)) == formats


def test_what_a_gpu_came_too_early_for_is_said_in_a_sentence(a_gpu_of):
    assert explain_formats(a_gpu_of((7, 5))) == (
        "This GPU (compute capability 7.5) multiplies in FP32, FP16; TF32 and BF16 came with 8.0; "
        "FP8 E4M3 came with 8.9."
    )
    assert "came" not in explain_formats(a_gpu_of((9, 0)))
    with pytest.raises(ValueError, match=r"FP8 E4M3 products want .* 8.9 or more"):
        product("FP8 E4M3", 16, a_gpu_of((8, 0)))


def test_what_was_reached_stands_under_the_data_sheets_peak_and_below_it():
    rates = published_rates("H200").values
    assert list(rates)[-2:] == ["FP8 E4M3, data sheet", "FP8 E4M3, best found"]
    for name in ("BF16", "FP8 E4M3"):
        assert 0.5 < rates[f"{name}, best found"] / rates[f"{name}, data sheet"] < 1
    assert "BF16, data sheet" not in published_rates("T4").values
    with pytest.raises(ValueError, match="no data sheet of 'Voodoo'"):
        published_rates("Voodoo")


class Switch:
    """Stands for `torch.backends.cuda.matmul`, and remembers each time it is thrown."""

    def __init__(self):
        self.thrown = ["none"]

    @property
    def fp32_precision(self):
        return self.thrown[-1]

    @fp32_precision.setter
    def fp32_precision(self, precision):
        self.thrown.append(precision)


def test_the_precision_is_set_once_around_a_measurement_and_put_back(monkeypatch):
    switch, seen = Switch(), []
    monkeypatch.setattr(torch.backends.cuda, "matmul", switch)
    a = torch.ones(2, 2)
    multiply = Product(a, a, lambda: seen.append(switch.fp32_precision), "tf32")
    with multiply:
        for _ in range(3):
            multiply()
    assert switch.thrown == ["none", "tf32", "none"]
    multiply()
    assert switch.thrown == ["none", "tf32", "none", "tf32", "none"]
    assert seen == ["tf32"] * 4


def test_a_product_that_needs_no_precision_leaves_the_switch_alone(monkeypatch):
    switch = Switch()
    monkeypatch.setattr(torch.backends.cuda, "matmul", switch)
    with product("BF16", 16) as multiply:
        multiply()
    assert switch.thrown == ["none"]
