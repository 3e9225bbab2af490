"""Checkers for chapter 6, "Floating-point formats"."""

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from course_utils.chapters.floating_point_formats.formats import (
    BF16,
    E2M1,
    E2M3,
    E3M2,
    E4M3,
    E5M2,
    FP16,
    Format,
    make,
)
from course_utils.chapters.floating_point_formats.quantizer import quantize
from course_utils.lesson.answers import against, as_number, as_numbers, shown
from course_utils.lesson.exercises import Wrong, exercise

# ---- Sums in a format, step by step: what a loop in that format would give.


@dataclass(frozen=True)
class Rounded:
    """A number that knows only + and −, and rounds each result to its format."""

    value: float
    fmt: Format

    def __add__(self, other: "Rounded") -> "Rounded":
        return Rounded(self.fmt.round(self.value + other.value), self.fmt)

    def __sub__(self, other: "Rounded") -> "Rounded":
        return Rounded(self.fmt.round(self.value - other.value), self.fmt)


def one_by_one(numbers: Sequence[Any], zero: Any) -> Any:
    """Each number added to the total so far. Error: at most about n·u·Σ|x| (Higham 1993)."""
    total = zero
    for number in numbers:
        total = total + number
    return total


def kahan(numbers: Sequence[Any], zero: Any) -> Any:
    """Carries what each addition lost to the next (Kahan 1965). Error: about 2u·Σ|x|."""
    total = lost = zero
    for number in numbers:
        wanted = number - lost
        grown = total + wanted
        lost = (grown - total) - wanted
        total = grown
    return total


def neumaier(numbers: Sequence[Any], zero: Any) -> Any:
    """What additions lost is added up apart, and once in the end: Python's `sum` from 3.12 on.

    Where Kahan's sum loses the total to a larger number, this one doesn't. Source: Neumaier 1974,
    "Rundungsfehleranalyse einiger Verfahren zur Summation endlicher Summen".
    """
    total = lost = zero
    for number in numbers:
        grown = total + number
        large, small = (total, number) if abs(total) >= abs(number) else (number, total)
        lost += (large - grown) + small
        total = grown
    return total + lost


def largest_error(way: Callable[[Any, Any], Any], count: int, draws: int = 20) -> float:
    """Of sums of `count` numbers between 0 and 1 in FP32, the largest relative error."""
    generators = (np.random.default_rng(seed) for seed in range(draws))
    tries = [generator.uniform(0, 1, count).astype(np.float32) for generator in generators]
    return max(relative_error(way(numbers, np.float32(0)), numbers) for numbers in tries)


def relative_error(total: float, numbers: Sequence[float] | np.ndarray) -> float:
    """|total − exact| / Σ|x|, the exact sum by math.fsum."""
    scale = math.fsum(abs(float(x)) for x in numbers)
    return abs(float(total) - math.fsum(map(float, numbers))) / scale


DRAWN_NUMBERS = 301


@exercise(
    "formats.quantiser",
    todo="write my_quantize(x, precision, lowest_exponent, largest) with torch.frexp and round.",
    hints=(
        "torch.frexp(x)[1] is one more than the exponent of the binade of x. One ulp there is "
        "2^(exponent − precision + 1).",
        "Subnormals share the ulp of the lowest binade: the exponent never goes below it.",
        "Divide by the ulp, torch.round (ties to even), multiply, clamp.",
    ),
)
def check_quantiser(my_quantize: Callable[[torch.Tensor, int, int, float], torch.Tensor]) -> str:
    """Bit by bit beside the course's own: random numbers, midpoints, overflows, zeros, NaN."""
    for fmt in (BF16, FP16, E4M3, E5M2, E2M3, E3M2, E2M1, make(10, random.randint(3, 7))):
        x = _trials(fmt)
        got = _rounded_by(my_quantize, fmt, x)
        want = quantize(x, fmt)
        same = (got == want) & (got.signbit() == want.signbit()) | got.isnan() & want.isnan()
        if not same.all():
            i = int((~same).nonzero()[0])
            raise Wrong(
                f"in {fmt.name}, {x[i]:.9g} became {got[i]:.9g}, want {want[i]:.9g} "
                f"({int((~same).sum())} of {len(x)} differ)",
                _drawn(my_quantize, fmt, float(x[i])),
            )
    return "eight formats: random numbers, midpoints, subnormals, overflows, −0 and NaN, all equal"


def _rounded_by(my_quantize: Callable[..., Any], fmt: Format, x: torch.Tensor) -> torch.Tensor:
    given = my_quantize(x.clone(), fmt.precision, fmt.lowest_exponent, fmt.max)
    kind = type(given).__name__
    try:
        got = torch.as_tensor(given).detach()
    except (TypeError, ValueError, RuntimeError):
        raise Wrong(f"want a tensor of shape {tuple(x.shape)}, got {kind}") from None
    if got.shape != x.shape:
        raise Wrong(f"want a tensor of shape {tuple(x.shape)}, got {kind} of {tuple(got.shape)}")
    return got


def _drawn(my_quantize: Callable[..., Any], fmt: Format, middle: float) -> Any:
    """The steps around a number that differs, the learner's beside the format's, where finite."""
    if math.isnan(middle):
        return None
    from course_utils.core.evidence import Series
    from course_utils.figures.compare import compare_lines

    reach = 3 * float(fmt.ulp(min(abs(middle), fmt.max)))
    x = torch.linspace(middle - reach, middle + reach, DRAWN_NUMBERS)
    got = _rounded_by(my_quantize, fmt, x)
    if not got.isfinite().all():
        return None
    lines = [
        (name, Series.exact(dict(zip(x.tolist(), y.tolist(), strict=True))))
        for name, y in (("wanted", quantize(x, fmt)), ("yours", got))
    ]
    title = f"{fmt.name} around {middle:.4g}: your steps and the format's"
    return lambda: compare_lines(title, lines, x_label="number", y_label="rounded")


def _trials(fmt: Format) -> torch.Tensor:
    spread = torch.randn(2000) * 2.0 ** torch.randint(-8, 8, (2000,)) * min(fmt.max, 100) / 100
    tiny = torch.randn(500) * 2 * fmt.min_subnormal
    low = fmt.round(spread.numpy(), overflow="saturate")
    middles = torch.from_numpy(low + fmt.ulp(low) / 2).float()
    ends = torch.tensor([0.0, fmt.max, -fmt.max, 2 * min(fmt.max, 1e38), -3 * min(fmt.max, 1e38)])
    odd = torch.tensor([-0.0, -fmt.min_subnormal / 4, math.nan])
    return torch.cat([spread, tiny, middles[torch.isfinite(middles)], ends, odd])


@exercise(
    "formats.kahan",
    todo="write kahan(numbers, zero): a sum that carries what each addition lost.",
    hints=(
        "After grown = total + number, what arrived is grown − total. What was lost?",
        "Subtract the loss from the next number before you add it.",
    ),
)
def check_kahan(kahan: Callable[[list[Any], Any], Any]) -> str:
    """Numbers that know only + and − in their format; the sum must be right to one ulp."""
    random_sums = [_random_numbers(*case) for case in ((E4M3, 40), (E4M3, 70), (FP16, 200))]
    for fmt, values in (*random_sums, (BF16, _alternating_numbers())):
        numbers = [Rounded(value, fmt) for value in values]
        total = kahan(list(numbers), Rounded(0.0, fmt))
        if not isinstance(total, Rounded):
            raise Wrong(f"want a sum of the numbers given, got {shown(total)}")
        exact = math.fsum(values)
        error = abs(as_number(total.value) - exact) / fmt.ulp(exact)
        if not error <= 1:
            plain = one_by_one(numbers, Rounded(0.0, fmt)).value
            raise Wrong(
                f"{len(values)} numbers in {fmt.name} sum to {exact:.6g}; you got {total.value:g}, "
                f"{error:.3g} ulp off (adding one by one gives {plain:g})"
            )
    return "random sums in BF16, FP8 E4M3 and FP16: within one ulp"


def _random_numbers(fmt: Format, count: int) -> tuple[Format, list[float]]:
    return fmt, [fmt.round(random.uniform(0.5, 1.5) * 100 / count) for _ in range(count)]


def _alternating_numbers() -> list[float]:
    """Two numbers of BF16 in turn, so that partial sums of a length all round the same way.

    What adds halves, blocks or every k-th number apart ends 1.2 ulp off or more, Kahan's sum half
    an ulp. The three were found by a search over random pairs.
    """
    first, second, count = random.choice([(308, 242, 444), (414, 180, 430), (1008, 196, 424)])
    scale = 2.0 ** random.randint(-20, 20)
    return [scale * (second if place % 2 else first) for place in range(count)]


@exercise(
    "formats.smallest_n",
    todo="write smallest_n(fmt, bound): the first n for which n times 1/n misses 1 by the bound.",
    hints=(
        "Round 1/n, round after every addition, and try n = 1, 2, 3, …",
        "fmt.round(total + part) is one addition in the format; compare with >=.",
    ),
)
def check_smallest_n(smallest_n: Callable[[Format, float], int]) -> str:
    """Against a search, where the sum ends above 1, below it, and at the bound exactly."""
    small, medium = random.uniform(0.008, 0.015), [random.uniform(0.01, 0.03) for _ in range(3)]
    cases = [(E3M2, 0.05), (BF16, medium[0]), (make(12, 7), small), (BF16, 2**-7)]
    cases += [(make(10, 5), 2**-5), (E4M3, medium[1]), (E5M2, medium[2])]

    def reference(fmt: Format, bound: float) -> int:
        return next(n for n in range(1, 100_000) if abs(_sum_of_parts(fmt, n) - 1) >= bound)

    def why(fmt: Format, bound: float) -> str:
        n = reference(fmt, bound)
        return f", where the sum of {n} parts is {_sum_of_parts(fmt, n):g}"

    against(smallest_n, reference, cases, why=why)
    return "six formats, bounds from 0.8% to 5%"


def _sum_of_parts(fmt: Format, n: int) -> float:
    part, total = fmt.round(1 / n), 0.0
    for _ in range(n):
        total = fmt.round(total + part)
    return total


@exercise(
    "formats.six_bits",
    todo="write design(x): precision and bias of the 6-bit format that suits the data best.",
    hints=(
        "make(6, precision, bias).round(x, overflow='saturate') shows what a format does to x.",
        "There are four precisions and a handful of biases: try them all on x.",
    ),
)
def check_six_bits(design: Callable[[np.ndarray], tuple[int, int]]) -> str:
    """On fresh samples of random scale, where E3M2 does badly: close to the best there is."""
    exponents = [random.choice([-6, -5, -4]), random.choice([2, 3]), random.choice([-4, 3])]
    for name, sample in random.sample(sorted(SAMPLES.items()), len(SAMPLES)):
        scale = 2.0 ** exponents.pop()
        draw = np.random.default_rng(random.randrange(10**6))
        seen, fresh = scale * sample(draw), scale * sample(draw)
        precision, bias, fmt = _six_bit_format(design(seen.copy()))
        error, given = squared_error(fmt, fresh), squared_error(make(6, 3, 3), fresh)
        best = min(squared_error(make(6, p, b), fresh) for p in range(2, 6) for b in range(-8, 16))
        if not error <= 2 * best:
            raise Wrong(
                f"{name} of scale {scale:g}: precision {precision}, bias {bias} has "
                f"{error / best:.3g} times the squared error of the best (E3M2: {given / best:.3g})"
            )
    return "three data sets of other scales: within twice the best format's squared error"


def _six_bit_format(answer: Any) -> tuple[int, int, Format]:
    precision, bias = as_numbers(answer, 2)
    try:
        if precision != int(precision) or bias != int(bias):
            raise ValueError("both are whole numbers")
        return int(precision), int(bias), make(6, int(precision), int(bias))
    except (OverflowError, ValueError) as problem:
        want = f"want (precision, bias) of a 6-bit format, got {shown(answer)}"
        raise Wrong(f"{want}: {problem}") from None


def _bell(draw: np.random.Generator) -> np.ndarray:
    """Clipped, with both ends always in it, so that no single rare number decides."""
    x = np.clip(draw.laplace(size=8000), -8, 8)
    x[:2] = 8, -8
    return x


def _few_large(draw: np.random.Generator) -> np.ndarray:
    x = draw.normal(size=8000)
    x[:200] = 256 * draw.choice([-1, 1], 200)
    return x


SAMPLES: dict[str, Callable[[np.random.Generator], np.ndarray]] = {
    "a bell": _bell,
    "an even spread": lambda draw: draw.uniform(-1, 1, 8000),
    "a bell with a few large numbers": _few_large,
}


def squared_error(fmt: Format, x: np.ndarray) -> float:
    """Mean of (x − rounded x)², overflow saturated."""
    return float(np.mean((x - fmt.round(x, overflow="saturate")) ** 2))
