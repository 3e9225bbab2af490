"""The error that is recorded is that of adding, and nothing else."""

import torch

from course_utils.chapters.floating_point_formats.fp8_accumulation import (
    accumulate_in_fp8,
    error_of_adding,
    positive,
)


def in_float64(a, b, fast):
    return a.double() @ b.double().t()


def test_inputs_are_fp8_and_none_is_negative():
    x = positive(8, 16, "cpu")
    assert x.dtype == torch.float8_e4m3fn and x.shape == (8, 16)
    assert x.float().min() >= 0 and x.float().max() <= 1


def test_an_exact_product_errs_by_nothing_and_a_lost_share_is_found():
    a, b = positive(8, 16, "cpu"), positive(4, 16, "cpu")
    assert error_of_adding(in_float64(a, b, False), a, b) == 0
    assert abs(error_of_adding(0.75 * in_float64(a, b, False), a, b) - 0.25) < 1e-12


def test_a_row_has_the_case_s_error_and_a_rate():
    asked = []

    def product(a, b, fast):
        asked.append((tuple(a.shape), tuple(b.shape), fast))
        return in_float64(a, b, fast) * (0.5 if fast else 1)

    for fast in (False, True):
        case = {"k": 32, "fast_accumulation": fast}
        row = accumulate_in_fp8(product, case, n=16, checked=4, device="cpu")
        assert row["largest_relative_error"] == (0.5 if fast else 0) and row["tflop_per_s"] > 0
    assert set(asked) == {((16, 32), (16, 32), fast) for fast in (False, True)}
