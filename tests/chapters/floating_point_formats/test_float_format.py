"""Every code of the small formats, every boundary, against ml_dtypes, numpy and torch."""

import math
import re

import numpy as np
import pytest
import torch

from course_utils.chapters.floating_point_formats.formats import (
    ALL,
    BF16,
    E2M1,
    E4M3,
    E5M2,
    E8M0,
    FP16,
    FP32,
    FP64,
    INT8,
    TF32,
    make,
)
from tests.chapters.floating_point_formats.oracles import (
    ORACLES,
    SMALL,
    boundaries,
    finite_codes,
    named,
    nearest_even,
    oracle_values,
)


@pytest.mark.parametrize("fmt", ORACLES, **named)
def test_every_code_decodes_as_the_oracle_does(fmt):
    np.testing.assert_array_equal(fmt.decode(np.arange(2**fmt.k)), oracle_values(fmt))


@pytest.mark.parametrize("fmt", ORACLES, **named)
def test_every_value_encodes_to_its_code_again(fmt):
    values = oracle_values(fmt)
    codes = np.flatnonzero(~np.isnan(values))
    np.testing.assert_array_equal(fmt.encode(values[codes]), codes)


@pytest.mark.parametrize(
    "fmt, view, shift", [(TF32, np.float32, 13), (FP32, np.float32, 0)], **named
)
def test_codes_of_the_wide_formats_are_those_of_float32(fmt, view, shift):
    codes = np.random.default_rng(0).integers(0, 2**fmt.k, 1_000_000)
    with np.errstate(invalid="ignore"):
        want = (codes << shift).astype(np.uint32).view(view).astype(np.float64)
    np.testing.assert_array_equal(fmt.decode(codes), want)
    known = ~np.isnan(want)
    np.testing.assert_array_equal(fmt.encode(want[known]), codes[known])


def test_codes_of_fp64_are_those_of_float64():
    codes = np.random.default_rng(0).integers(0, 2**64, 100_000, dtype=np.uint64)
    values = codes.view(np.float64)
    np.testing.assert_array_equal(FP64.decode(codes), values)
    np.testing.assert_array_equal(FP64.encode(values[~np.isnan(values)]), codes[~np.isnan(values)])


@pytest.mark.parametrize("fmt", SMALL, **named)
def test_rounding_is_right_at_every_boundary(fmt):
    x = boundaries(fmt)
    got = fmt.round(x, overflow="saturate")
    np.testing.assert_array_equal(got, nearest_even(fmt, x))


@pytest.mark.parametrize("fmt", SMALL, **named)
@pytest.mark.parametrize(
    "rounding, side", [("toward_zero", None), ("down", "low"), ("up", "high")], ids=str
)
def test_directed_rounding_gives_the_neighbour_on_its_side(fmt, rounding, side):
    x = boundaries(fmt)
    values, _ = finite_codes(fmt)
    low = values[np.searchsorted(values, x, side="right") - 1]
    high = values[np.minimum(np.searchsorted(values, x), len(values) - 1)]
    want = {"low": low, "high": high}.get(side, np.where(x < 0, high, low))
    np.testing.assert_array_equal(fmt.round(x, rounding, overflow="saturate"), want)


@pytest.mark.parametrize("fmt", [FP16, BF16, TF32, FP32, E5M2, E4M3], **named)
def test_overflow_begins_half_an_ulp_above_the_largest_value(fmt):
    half = fmt.ulp(fmt.max) / 2
    largest_code_is_even = fmt.encode(fmt.max) % 2 == 0
    beyond = math.inf if fmt.has_infinity else math.nan
    under, at, over = (fmt.max + h for h in (half * 0.999, half, half * 1.001))
    assert fmt.round(under) == fmt.max
    np.testing.assert_equal(fmt.round(at), fmt.max if largest_code_is_even else beyond)
    np.testing.assert_equal(fmt.round(over), beyond)
    np.testing.assert_equal(fmt.round(-over), -beyond)
    for value in (over, math.inf, 1e300):
        assert fmt.round(value, overflow="saturate") == fmt.max
        assert fmt.round(-value, overflow="saturate") == -fmt.max


def test_float64_is_rounded_once():
    tricky = 1 + 2**-11 + 2**-40
    assert FP16.round(tricky) == 1 + 2**-10
    assert float(torch.tensor(tricky, dtype=torch.float64).half()) == 1.0  # twice, in torch
    assert float(np.float64(tricky).astype(np.float16)) == 1 + 2**-10


@pytest.mark.parametrize(
    "fmt, dtype",
    [
        (FP16, torch.float16),
        (BF16, torch.bfloat16),
        (E5M2, torch.float8_e5m2),
        (E4M3, torch.float8_e4m3fn),
    ],
    **named,
)
def test_float32_rounds_as_torchs_own_dtypes_do(fmt, dtype):
    patterns = np.random.default_rng(1).integers(0, 2**32, 1_000_000, dtype=np.uint32)
    x = patterns.view(np.float32)
    ours = fmt.round(x)
    theirs = torch.from_numpy(x).to(dtype).double().numpy()
    same = np.ones_like(x, dtype=bool)
    if dtype is torch.float8_e4m3fn and _release() >= (2, 13):
        same = np.abs(x) < 464  # from 2.13 on torch saturates where IEEE's rule gives NaN
        big = ~same & ~np.isnan(x)
        np.testing.assert_array_equal(theirs[big], fmt.round(x[big], overflow="saturate"))
    np.testing.assert_array_equal(ours[same], theirs[same])


def _release():
    return tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])


@pytest.mark.parametrize("fmt", [f for f in ALL if f.has_nan], **named)
def test_nan_has_one_code_and_no_sign(fmt):
    payloads = np.array([np.nan, -np.nan, np.uint64(0x7FF0000000000001).view(np.float64)])
    assert len(set(fmt.encode(payloads).tolist())) == 1
    assert math.isnan(fmt.decode(fmt.encode(math.nan)))


@pytest.mark.parametrize("fmt", [f for f in ALL if f.info.has_nz], **named)
def test_zero_keeps_its_sign_and_so_does_what_vanishes(fmt):
    assert math.copysign(1, fmt.round(-0.0)) == -1
    assert fmt.encode(-0.0) == 2 ** (fmt.k - 1)
    if fmt is not FP64:
        assert math.copysign(1, fmt.round(-fmt.min_subnormal / 4)) == -1


@pytest.mark.parametrize("fmt", SMALL, **named)
def test_neighbours_and_spacing_are_those_of_the_sorted_values(fmt):
    values, _ = finite_codes(fmt)
    np.testing.assert_array_equal(fmt.next_up(values[:-1]), values[1:])
    np.testing.assert_array_equal(fmt.next_down(values[1:]), values[:-1])
    np.testing.assert_array_equal(fmt.spacing(values[:-1]), np.diff(values))
    assert fmt.next_up(values[-1]) == math.inf and fmt.next_down(values[0]) == -math.inf
    np.testing.assert_array_equal(fmt.values(), values)


@pytest.mark.parametrize("fmt, dtype", [(FP32, np.float32), (FP64, np.float64), (FP16, np.float16)])
def test_ulp_is_numpys_spacing(fmt, dtype):
    bits = {2: np.uint16, 4: np.uint32, 8: np.uint64}[np.dtype(dtype).itemsize]
    x = np.random.default_rng(2).integers(0, 2**15, 1000).astype(bits).view(dtype)
    x = np.concatenate([x, np.array([1, 1.5, 3, 1000], dtype)])
    x = x[np.isfinite(x)]
    np.testing.assert_array_equal(fmt.ulp(x), np.spacing(np.abs(x)).astype(np.float64))


def test_ulp_of_nan_and_infinity():
    assert math.isnan(FP16.ulp(math.nan)) and FP16.ulp(-math.inf) == math.inf


@pytest.mark.parametrize(
    "fmt, value, fields",
    [
        (FP16, 1.5, ("0", "01111", "1000000000")),
        (BF16, -2.0, ("1", "10000000", "0000000")),
        (TF32, 1.0, ("0", "01111111", "0000000000")),
        (E8M0, 4.0, ("", "10000001", "")),
        (INT8, -1.0, ("1", "", "1111111")),
    ],
    **named,
)
def test_fields_are_sign_exponent_significand(fmt, value, fields):
    assert tuple(fmt.bits(value)) == fields
    assert len("".join(fields)) == fmt.k


WIDE = [FP16, TF32, make(28, 20), make(31, 23)]


@pytest.mark.parametrize("fmt", WIDE, **named)
def test_stochastic_rounding_never_moves_what_the_format_holds(fmt):
    held = np.repeat([1.0, 1 + fmt.ulp(1.0), -fmt.min_subnormal, 3.0], 100_000)
    np.testing.assert_array_equal(fmt.round(held, "stochastic", seed=0), held)


@pytest.mark.parametrize("fmt", WIDE, **named)
@pytest.mark.parametrize("share", [1 / 8, 0.3, 7 / 8], ids=str)
def test_stochastic_rounding_goes_up_as_often_as_exact_arithmetic_says(fmt, share):
    """Within four standard deviations of 200,000 draws."""
    x = 1 + share * fmt.ulp(1.0)
    exact = (x - 1) / fmt.ulp(1.0)
    up = fmt.round(np.full(200_000, x), "stochastic", seed=1) > 1
    assert abs(up.mean() - exact) < 4 * math.sqrt(exact * (1 - exact) / 200_000)


def test_stochastic_rounding_is_right_on_average_and_seeded():
    x = np.full(100_000, 1.3)
    rounded = E2M1.round(x, "stochastic", seed=0)
    assert set(rounded) == {1.0, 1.5}
    assert abs(rounded.mean() - 1.3) < 0.003
    np.testing.assert_array_equal(rounded, E2M1.round(x, "stochastic", seed=0))
    np.testing.assert_array_equal(E2M1.round(np.array([1.5, 6.0]), "stochastic"), [1.5, 6.0])


@pytest.mark.parametrize(
    "call, error, says",
    [
        (lambda: FP16.decode(65536), ValueError, "FP16 has codes 0 to 65535; 65536 is none"),
        (lambda: E2M1.decode(np.array([3, -1])), ValueError, "codes 0 to 15; -1 is none"),
        (lambda: FP16.round(1.0, "sideways"), ValueError, "rounding is one of nearest_even"),
        (lambda: FP16.round(1.0, overflow="wrap"), ValueError, "overflow is one of saturate"),
        (lambda: E2M1.round(math.nan), ValueError, "FP4 E2M1 has no NaN"),
        (lambda: E2M1.round(100.0), ValueError, "largest value is 6: say overflow='saturate'"),
        (lambda: FP32.values(), ValueError, "too many to list"),
    ],
)
def test_bad_input_gets_a_clear_error(call, error, says):
    with pytest.raises(error, match=re.escape(says)):
        call()


def test_the_largest_value_of_a_format_without_infinity_admits_what_rounds_to_it():
    assert E2M1.round(6.9) == 6.0
    for value, rounding in ((7.0, "nearest_even"), (6.1, "up"), (-6.1, "down")):
        with pytest.raises(ValueError, match="FP4 E2M1 has neither infinity nor NaN for"):
            E2M1.round(value, rounding)
    for rounding in ("toward_zero", "up", "down"):
        with pytest.raises(ValueError, match="say overflow='saturate'"):
            E2M1.round(np.array([math.inf, -math.inf]), rounding)


def test_rounding_towards_zero_never_overflows():
    for fmt in (FP16, E4M3, E2M1, INT8):
        assert fmt.round(1e6, "toward_zero") == fmt.round(1e6, "down") == fmt.max
        assert fmt.round(-1e6, "up") == fmt.info.min
