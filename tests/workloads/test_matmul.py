"""Products in each format: rounded inputs, the units of a GPU, the switch put back."""

import pytest
import torch

from course_utils.workloads import matmul
from course_utils.workloads.matmul import Product, formats_of, product


def test_a_product_is_that_of_its_rounded_inputs():
    products = {torch.float32: product("FP32", 32), torch.bfloat16: product("BF16", 32)}
    a, b = torch.randn(2, 32, 32)
    products[torch.float8_e4m3fn] = Product(a, b, matmul._fp8(a, b))
    for dtype, multiply in products.items():
        want = multiply.a.to(dtype).double() @ multiply.b.to(dtype).double()
        torch.testing.assert_close(multiply().double(), want, rtol=2**-7, atol=2**-5)


def test_what_a_device_has_no_units_for_is_left_out_and_said_in_a_sentence(a_gpu_of):
    assert formats_of(a_gpu_of((8, 6))) == ["FP32", "TF32", "FP16", "BF16"]
    assert formats_of(a_gpu_of((8, 9))) == list(matmul.DTYPES)
    for name, device, why in (
        ("FP8 E4M3", a_gpu_of((8, 0)), r"FP8 E4M3 products want .* 8.9 or more"),
        ("TF32", "cpu", "want a CUDA GPU of capability 8.0 or more"),
        ("FP12", "cpu", "there are FP32"),
    ):
        with pytest.raises(ValueError, match=why):
            product(name, 16, device)


def test_the_precision_is_set_once_around_a_measurement_and_put_back(monkeypatch):
    thrown = ["none"]

    class Switch:
        """Stands for `torch.backends.cuda.matmul`: each time it is thrown is remembered."""

        fp32_precision = property(lambda _: thrown[-1], lambda _, how: thrown.append(how))

    monkeypatch.setattr(torch.backends.cuda, "matmul", Switch())
    a = torch.ones(2, 2)
    multiply = Product(a, a, lambda: thrown[-1], "tf32")
    with multiply:
        assert [multiply() for _ in range(3)] == ["tf32"] * 3
    assert thrown == ["none", "tf32", "none"]
    assert multiply() == "tf32" and thrown[2:] == ["none", "tf32", "none"]
