"""A floating-point format, exactly: what it can hold, and how it rounds.

The arithmetic is that of gfloat, which describes any format by a few numbers (Fitzgibbon and
Felix, "gfloat: Generic floating-point types in Python"). This module gives it float64 and rounds
once, gives every NaN the same code, takes overflow as an argument, and accepts numbers, numpy
arrays and torch tensors.
"""

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, NamedTuple

import gfloat
import numpy as np
from gfloat import FormatInfo, RoundMode
from gfloat.types import Domain

EXTENDED = ("bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu")  # of ml_dtypes


def to_numpy(values: Any, integers: bool = False) -> tuple[np.ndarray, Callable[[np.ndarray], Any]]:
    """A float64 array (or one of integers), and the function that gives a result back.

    Raises: TypeError for what isn't numbers of that kind, ValueError for an array or a tensor
    without any.
    """
    is_tensor = type(values).__module__.split(".")[0] == "torch" and hasattr(values, "numel")
    array = _from_tensor(values) if is_tensor else np.asarray(values)
    is_real = array.dtype.kind in "iuf" or array.dtype.name in EXTENDED
    if not (array.dtype.kind in "iu" if integers else is_real):
        wanted = "integer codes are" if integers else "real numbers are"
        raise TypeError(f"{wanted} wanted, not {type(values).__name__} {values!r:.40}")
    if array.size == 0:
        raise ValueError(f"at least one number is wanted; the shape given is {array.shape}")
    if not integers:
        with np.errstate(invalid="ignore"):  # a signalling NaN becomes a quiet one
            array = array.astype(np.float64)
    if is_tensor:
        return array, lambda result: _to_tensor(result, values.device)
    if isinstance(values, np.ndarray):
        return array, lambda result: result
    if array.ndim:
        want = "a number, a numpy array or a torch tensor is wanted (np.array(…) makes one)"
        raise TypeError(f"{want}, not {values!r:.40}")
    return array, lambda result: result.item()


def _from_tensor(tensor: Any) -> np.ndarray:
    plain = tensor.detach().cpu()
    return (plain.double() if plain.is_floating_point() else plain).numpy()


def _to_tensor(result: np.ndarray, device: Any) -> Any:
    import torch

    result = np.asarray(result, order="C")
    if result.dtype == np.uint64:  # codes: torch computes with few unsigned types
        result = result.astype(np.int64)
    return torch.from_numpy(result).to(device)


ROUNDINGS = {
    "nearest_even": RoundMode.TiesToEven,
    "nearest_away": RoundMode.TiesToAway,
    "toward_zero": RoundMode.TowardZero,
    "down": RoundMode.TowardNegative,
    "up": RoundMode.TowardPositive,
    "stochastic": RoundMode.Stochastic,
}
OVERFLOWS = ("saturate", "inf_or_nan")
STOCHASTIC_BITS = 24


class Bits(NamedTuple):
    """A number's bits as text, by field; for INT8 all bits but the sign are fraction."""

    sign: str
    exponent: str
    fraction: str


@dataclass(frozen=True, eq=False)
class Format:
    """One format. Values go in and come out as float64; codes are integers from 0 to 2^k − 1."""

    name: str
    info: FormatInfo

    @property
    def k(self) -> int:
        """Bits of a code."""
        return self.info.k

    @property
    def precision(self) -> int:
        """Bits of the significand, the hidden one counted."""
        return self.info.precision

    @property
    def max(self) -> float:
        """The largest finite value."""
        return float(self.info.max)

    @property
    def min_normal(self) -> float:
        """The smallest positive value with a full significand; for INT8 there is none: NaN."""
        lowest = self.lowest_exponent - (not self.info.has_subnormals)
        return math.nan if self.info.is_all_subnormal else 2.0**lowest

    @property
    def min_subnormal(self) -> float:
        """The smallest positive value; equal to `min_normal` where there are no subnormals."""
        return float(self.info.smallest)

    @property
    def has_infinity(self) -> bool:
        return self.info.domain == Domain.Extended

    @property
    def has_nan(self) -> bool:
        return self.info.num_nans > 0

    def decode(self, codes: Any) -> Any:
        """The values of codes (FP64's also in an int64): a float, or float64 in the shape given.

        Raises: TypeError for codes that aren't integers, ValueError for one above 2^k − 1.
        """
        array, give_back = to_numpy(codes, integers=True)
        if self.k == 64 and array.dtype.str[1:] == "i8" and not isinstance(codes, int):
            array = array.astype(np.int64).view(np.uint64)
        for code in (int(array.min()), int(array.max())):
            if not 0 <= code < 2**self.k:
                codes_there = f"{self.name} has codes 0 to {2**self.k - 1}"
                raise ValueError(f"{codes_there}; {code} is none of them")
        if self.k == 64:
            return give_back(array.astype(np.uint64).view(np.float64))
        return give_back(gfloat.decode_ndarray(self.info, array.astype(np.int64)))

    def encode(self, values: Any) -> Any:
        """The codes of values, which are rounded as `round` does; NaN always has the same code.

        An int for a number, else uint64 (numpy) or int64 (torch) in the shape given.
        Raises: those of `round`.
        """
        array, give_back = to_numpy(values)
        rounded = self._round(array)
        if self.k == 64:
            return give_back(np.where(np.isnan(rounded), np.nan, rounded).view(np.uint64))
        return give_back(gfloat.encode_ndarray(self.info, rounded))

    def round(
        self,
        values: Any,
        rounding: str = "nearest_even",
        overflow: str = "inf_or_nan",
        seed: int | None = None,
    ) -> Any:
        """The values of this format that stand for `values`: a float, or float64 in that shape.

        `rounding` is one of ROUNDINGS; "stochastic" rounds up with the probability of the
        remainder, drawn from `seed`. `overflow` says what becomes of values beyond `max` after
        rounding, infinity too: "saturate" gives ±max, "inf_or_nan" infinity where the format has
        it, else NaN. E8M0 takes ties up, as torch does, and what is below its range as its smallest
        value; zero, which it lacks, is its smallest value if saturated, else NaN.
        Raises: ValueError for an unknown name, and for NaN, an overflow or a sign that the format
        can't hold; TypeError for what isn't a number.
        """
        array, give_back = to_numpy(values)
        return give_back(self._round(array, rounding, overflow, seed))

    def ulp(self, value: Any) -> Any:
        """Unit in the last place: the gap between neighbours in the binade of `value`.

        Subnormals and zero share the smallest. NaN gives NaN, infinity infinity.
        Source: Goldberg 1991, section 1.2.
        """
        array, give_back = to_numpy(value)
        exponent = np.frexp(np.where(np.isfinite(array), array, 1))[1] - 1
        lowest = self.lowest_exponent if self.info.has_subnormals else -(2**20)
        exponent = np.maximum(np.where(array == 0, lowest, exponent), lowest)
        with np.errstate(over="ignore"):
            gap = np.ldexp(1.0, exponent - self.precision + 1)
        return give_back(np.where(np.isfinite(array), gap, np.abs(array)))

    def next_up(self, value: Any) -> Any:
        """The next larger number of this format; infinity after `max`, NaN after NaN."""
        array, give_back = to_numpy(value)
        return give_back(self._next_up(self._round(array, overflow="saturate")))

    def next_down(self, value: Any) -> Any:
        """The next smaller number of this format; −infinity below the smallest."""
        array, give_back = to_numpy(value)
        here = self._round(array, overflow="saturate")
        if self.info.is_signed and not self.info.is_twos_complement:
            return give_back(-self._next_up(-here))
        down = here - np.where(self.precision == 1, here / 2, self.min_subnormal)
        return give_back(np.where(here <= self.info.min, -np.inf, down))

    def bits(self, value: float) -> Bits:
        """The bits of one value, after rounding, as sign, exponent and fraction."""
        return self.fields(self.encode(float(value)))

    def fields(self, code: int) -> Bits:
        """The bits of one code as sign, exponent and fraction."""
        text, sign = f"{code:0{self.k}b}", self.info.signBits
        fraction = sign + (0 if self.info.is_all_subnormal else self.info.expBits)
        return Bits(text[:sign], text[sign:fraction], text[fraction:])

    def values(self) -> np.ndarray:
        """Every finite value once, in order, as float64; ValueError above 16 bits."""
        if self.k > 16:
            raise ValueError(f"{self.name} has 2^{self.k} codes: too many to list")
        decoded = self.decode(np.arange(2**self.k))
        return np.unique(decoded[np.isfinite(decoded)] + 0.0)

    @property
    def lowest_exponent(self) -> int:
        """The exponent of the smallest normal numbers; the subnormals share its ulp."""
        return 1 - self.info.bias

    def _next_up(self, here: np.ndarray) -> np.ndarray:
        gap = np.asarray(self.ulp(here))
        binade_ends = (np.frexp(here)[0] == -0.5) & (np.abs(here) > self.min_normal)
        with np.errstate(over="ignore"):
            up = here + np.where(binade_ends, gap / 2, gap)
        return np.where(here >= self.max, np.where(np.isnan(here), np.nan, np.inf), up)

    def _round(
        self,
        array: np.ndarray,
        rounding: str = "nearest_even",
        overflow: str = "inf_or_nan",
        seed: int | None = None,
    ) -> np.ndarray:
        check_choice(rounding, ROUNDINGS, "rounding")
        check_choice(overflow, OVERFLOWS, "overflow")
        mode, saturate = ROUNDINGS[rounding], overflow == "saturate"
        self._refuse(array, saturate)
        saturate |= not (self.has_infinity or self.has_nan)  # what overflows was refused
        if self.precision == 1 and mode is RoundMode.TiesToEven:
            mode = RoundMode.TiesToAway
        if not self.info.has_zero:
            array = self._without_zero(array, saturate)
        if self.k == 64:
            return np.clip(array, -self.max, self.max) if saturate else array.copy()
        bits: dict[str, Any] = {}
        if mode is RoundMode.Stochastic:
            drawn = np.random.default_rng(seed).integers(0, 2**STOCHASTIC_BITS, array.shape)
            bits = {"srbits": drawn, "srnumbits": STOCHASTIC_BITS}
        with np.errstate(over="ignore"):  # beyond the largest float64 is beyond every format
            return gfloat.round_ndarray(self.info, array, mode, saturate, **bits)

    def _refuse(self, array: np.ndarray, saturate: bool) -> None:
        if not self.has_nan and np.isnan(array).any():
            raise ValueError(f"{self.name} has no NaN: replace it before rounding")
        if not self.info.is_signed and saturate and (array < 0).any():
            raise ValueError(f"{self.name} has no sign: {array[array < 0].flat[0]:g} can't be held")
        if self.has_infinity or self.has_nan:
            return
        beyond = (array > self.max) | (array < self.info.min)
        if not saturate and beyond.any():
            lacks = f"{self.name} has neither infinity nor NaN for {array[beyond].flat[0]:g}"
            raise ValueError(f"{lacks}; its largest value is {self.max:g}: say overflow='saturate'")

    def _without_zero(self, array: np.ndarray, saturate: bool) -> np.ndarray:
        """For E8M0: NaN for negative values, the smallest value for those below the range."""
        least = self.min_subnormal
        at_zero = least if saturate else np.nan
        return np.select([array == 0, array < 0], [at_zero, np.nan], np.maximum(array, least))


def check_choice(given: str, allowed: Collection[str], what: str) -> None:
    """Raises: ValueError, with what is allowed, for anything else."""
    if given not in allowed:
        raise ValueError(f"{what} is one of {', '.join(allowed)}; not {given!r}")
