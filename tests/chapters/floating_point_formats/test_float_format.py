"""Every code of the small formats, every boundary, against ml_dtypes, numpy and torch."""

import math
import re

import numpy as np
import pytest

from course_utils.chapters.floating_point_formats.formats import (
    ALL,
    BF16,
    E2M1,
    E4M3,
    E5M2,
    FP16,
    FP32,
    TF32,
)
from tests.chapters.floating_point_formats.oracles import (
    ORACLES,
    boundaries,
    finite_codes,
    named,
    nearest_even,
    oracle_values,
)

WITH_INFINITY = (FP16, BF16, TF32, FP32, E5M2)


@pytest.mark.parametrize("fmt", ORACLES, **named)
def test_every_code_is_decoded_and_encoded_as_the_oracle_does(fmt):
    values = oracle_values(fmt)
    every = range(0, 2**fmt.k, 1 if fmt.k < 16 else 7)
    np.testing.assert_array_equal([fmt.decode(code) for code in every], values[[*every]])
    numbers = [code for code in every if not np.isnan(values[code])]
    assert [fmt.encode(values[code]) for code in numbers] == numbers


@pytest.mark.parametrize(
    "fmt, shift",
    [(TF32, 13), (FP32, 0)],
    **named,
)
def test_codes_of_the_wide_formats_are_those_of_float32(fmt, shift):
    codes = np.random.default_rng(0).integers(0, 2**fmt.k, 5_000, dtype=np.uint32)
    with np.errstate(invalid="ignore"):
        want = (codes << np.uint32(shift)).view(np.float32).astype(np.float64)
    np.testing.assert_array_equal([fmt.decode(code) for code in codes.tolist()], want)
    known = ~np.isnan(want)
    assert [fmt.encode(value) for value in want[known].tolist()] == codes[known].tolist()


@pytest.mark.parametrize("fmt", ORACLES, **named)
def test_rounding_is_right_at_every_boundary(fmt):
    x = boundaries(fmt)
    np.testing.assert_array_equal(fmt.round(x, overflow="saturate"), nearest_even(fmt, x))


@pytest.mark.parametrize("fmt", ORACLES, **named)
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
    beyond = math.inf if fmt in WITH_INFINITY else math.nan
    under, at, over = (fmt.max + h for h in (half * 0.999, half, half * 1.001))
    assert fmt.round(under) == fmt.max
    np.testing.assert_equal(fmt.round(at), fmt.max if largest_code_is_even else beyond)
    np.testing.assert_equal(fmt.round(over), beyond)
    np.testing.assert_equal(fmt.round(-over), -beyond)
    for value in (over, math.inf, 1e300):
        assert fmt.round(value, overflow="saturate") == fmt.max
        assert fmt.round(-value, overflow="saturate") == -fmt.max


def test_float64_is_rounded_once():
    tricky = 1 + 2**-11 + 2**-40  # torch rounds it twice
    assert FP16.round(tricky) == float(np.float64(tricky).astype(np.float16)) == 1 + 2**-10


@pytest.mark.parametrize("fmt", ALL, **named)
def test_nan_has_one_code_and_zero_keeps_its_sign_and_so_does_what_vanishes(fmt):
    if fmt.has_nan:
        payloads = np.array([np.nan, -np.nan, np.uint64(0x7FF0000000000001).view(np.float64)])
        assert len({fmt.encode(one) for one in payloads}) == 1
        assert math.isnan(fmt.decode(fmt.encode(math.nan)))
    if fmt.info.has_nz:
        assert math.copysign(1, fmt.round(-0.0)) == -1
        assert fmt.encode(-0.0) == 2 ** (fmt.k - 1)
        assert math.copysign(1, fmt.round(-fmt.min_subnormal / 4)) == -1


@pytest.mark.parametrize("fmt", ORACLES, **named)
def test_neighbours_are_those_of_the_sorted_values(fmt):
    values, codes = finite_codes(fmt)
    up = [fmt.neighbour(code, 1) for code in codes[:-1].tolist()]
    np.testing.assert_array_equal([fmt.decode(code) for code in up], values[1:])
    down = [fmt.neighbour(code, -1) for code in codes[1:].tolist()]
    np.testing.assert_array_equal([fmt.decode(code) for code in down], values[:-1])
    for code, direction in ((codes[-1], 1), (codes[0], -1)):
        there = fmt.neighbour(int(code), direction)
        assert there is None if fmt not in WITH_INFINITY else math.isinf(fmt.decode(there))
    np.testing.assert_array_equal(fmt.values(), values)


@pytest.mark.parametrize("fmt, dtype", [(FP32, np.float32), (FP16, np.float16)])
def test_ulp_is_numpys_spacing(fmt, dtype):
    bits = {2: np.uint16, 4: np.uint32}[np.dtype(dtype).itemsize]
    x = np.random.default_rng(2).integers(0, 2**15, 1000).astype(bits).view(dtype)
    x = np.concatenate([x, np.array([1, 1.5, 3, 1000], dtype)])
    x = x[np.isfinite(x)]
    np.testing.assert_array_equal(fmt.ulp(x), np.spacing(np.abs(x)).astype(np.float64))


@pytest.mark.parametrize("fmt", [FP16, TF32, E2M1], **named)
def test_stochastic_rounding_goes_up_as_often_as_exact_arithmetic_says(fmt):
    """Within four standard deviations of 200,000 draws from a seed."""
    held = np.repeat([1.0, 1 + fmt.ulp(1.0), -fmt.min_subnormal, 3.0], 10_000)
    np.testing.assert_array_equal(fmt.round(held, "stochastic", seed=0), held)
    for share in (1 / 8, 0.3, 7 / 8):
        x = 1 + share * fmt.ulp(1.0)
        exact = (x - 1) / fmt.ulp(1.0)
        up = fmt.round(np.full(200_000, x), "stochastic", seed=1) > 1
        assert abs(up.mean() - exact) < 4 * math.sqrt(exact * (1 - exact) / 200_000)


@pytest.mark.parametrize(
    "call, says",
    [
        (lambda: FP16.round(1.0, "sideways"), "rounding is one of nearest_even"),
        (lambda: FP16.round(1.0, overflow="wrap"), "overflow is one of saturate"),
        (lambda: E2M1.round(math.nan), "FP4 E2M1 has no NaN"),
    ],
)
def test_bad_input_gets_a_clear_error(call, says):
    with pytest.raises(ValueError, match=re.escape(says)):
        call()


def test_a_format_without_infinity_and_nan_saturates_whatever_is_asked():
    for value, rounding in ((7.0, "nearest_even"), (-6.1, "down"), (-math.inf, "up")):
        for overflow in ("saturate", "inf_or_nan"):
            assert E2M1.round(value, rounding, overflow) == math.copysign(6, value)


def test_rounding_towards_zero_never_overflows():
    for fmt in (FP16, E4M3):
        assert fmt.round(1e6, "toward_zero") == fmt.round(1e6, "down") == fmt.max
        assert fmt.round(-1e6, "up") == fmt.info.min
