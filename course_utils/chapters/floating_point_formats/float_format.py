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

EXTENDED = ("bfloat16", "float8_e4m3fn", "float8_e5m2")  # of ml_dtypes


def to_numpy(values: Any) -> tuple[np.ndarray, Callable[[np.ndarray], Any]]:
    """A float64 array, and the function that gives a result back in the kind that `values` is.

    Raises: TypeError for what isn't real numbers, ValueError for an array without any.
    """
    is_tensor = type(values).__module__.split(".")[0] == "torch" and hasattr(values, "numel")
    array = _from_tensor(values) if is_tensor else np.asarray(values)
    if array.dtype.kind not in "iuf" and array.dtype.name not in EXTENDED:
        raise TypeError(f"real numbers are wanted, not {type(values).__name__} {values!r:.40}")
    if array.size == 0:
        raise ValueError(f"at least one number is wanted; the shape given is {array.shape}")
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

    return torch.from_numpy(np.asarray(result, order="C")).to(device)


ROUNDINGS = {
    "nearest_even": RoundMode.TiesToEven,
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
        return math.nan if self.info.is_all_subnormal else 2.0**self.lowest_exponent

    @property
    def min_subnormal(self) -> float:
        """The smallest positive value."""
        return float(self.info.smallest)

    @property
    def has_nan(self) -> bool:
        return self.info.num_nans > 0

    def decode(self, code: int) -> float:
        """The value of a code from 0 to 2^k − 1."""
        return float(gfloat.decode_ndarray(self.info, np.array(code)))

    def encode(self, value: float) -> int:
        """The code of a value, which is rounded as `round` does; NaN always has the same code.

        Raises: those of `round`.
        """
        return int(gfloat.encode_ndarray(self.info, np.array(self.round(value))))

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
        it, else NaN. A format with neither saturates always, as OCP MX 1.0 says.
        Raises: ValueError for an unknown name, and for NaN where the format has none; TypeError
        for what isn't a number.
        """
        array, give_back = to_numpy(values)
        check_choice(rounding, ROUNDINGS, "rounding")
        check_choice(overflow, OVERFLOWS, "overflow")
        if not self.has_nan and np.isnan(array).any():
            raise ValueError(f"{self.name} has no NaN: replace it before rounding")
        mode, saturate = ROUNDINGS[rounding], overflow == "saturate" or not self.has_nan
        bits: dict[str, Any] = {}
        if mode is RoundMode.Stochastic:
            drawn = np.random.default_rng(seed).integers(0, 2**STOCHASTIC_BITS, array.shape)
            bits = {"srbits": drawn, "srnumbits": STOCHASTIC_BITS}
        return give_back(gfloat.round_ndarray(self.info, array, mode, saturate, **bits))

    def ulp(self, value: Any) -> Any:
        """Unit in the last place: the gap between neighbours in the binade of `value`.

        Subnormals and zero share the smallest. NaN gives NaN, infinity infinity.
        Source: Goldberg 1991, section 1.2.
        """
        array, give_back = to_numpy(value)
        exponent = np.frexp(np.where(np.isfinite(array), array, 1))[1] - 1
        lowest = self.lowest_exponent
        exponent = np.maximum(np.where(array == 0, lowest, exponent), lowest)
        gap = np.ldexp(1.0, exponent - self.precision + 1)
        return give_back(np.where(np.isfinite(array), gap, np.abs(array)))

    def neighbour(self, code: int, direction: int) -> int | None:
        """The code of the next larger (1) or smaller (−1) number, infinity too; None at the end.

        Codes without their sign bit are in the order of their numbers; INT8's with it.
        """
        half, complement = 2 ** (self.k - 1), self.info.is_twos_complement
        below = code - 2 * half if complement else half - code  # −0 is at 0
        there = (code if code < half else below) + direction
        if not -half - complement < there < half or math.isnan(self.decode(code)):
            return None
        found = there if there >= 0 else there + 2 * half if complement else half - there
        return None if math.isnan(self.decode(found)) else found

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
        decoded = gfloat.decode_ndarray(self.info, np.arange(2**self.k))
        return np.unique(decoded[np.isfinite(decoded)] + 0.0)

    @property
    def lowest_exponent(self) -> int:
        """The exponent of the smallest normal numbers; the subnormals share its ulp."""
        return 1 - self.info.bias


def check_choice(given: str, allowed: Collection[str], what: str) -> None:
    """Raises: ValueError, with what is allowed, for anything else."""
    if given not in allowed:
        raise ValueError(f"{what} is one of {', '.join(allowed)}; not {given!r}")
