"""Wrong answers to chapter 6's exercises, each as a student might write it."""

import math

import numpy as np
import torch

from course_utils.chapters.floating_point_formats import make, summation


def no_subnormals(x, precision, lowest_exponent, largest):
    ulp = torch.ldexp(torch.ones_like(x), torch.frexp(x)[1] - precision)
    return (torch.round(x / ulp) * ulp).clamp(-largest, largest)


def cut_off(x, precision, lowest_exponent, largest):
    exponent = (torch.frexp(x)[1] - 1).clamp(min=lowest_exponent)
    ulp = torch.ldexp(torch.ones_like(x), exponent - precision + 1)
    return (torch.trunc(x / ulp) * ulp).clamp(-largest, largest)


def half_goes_up(x, precision, lowest_exponent, largest):
    exponent = (torch.frexp(x)[1] - 1).clamp(min=lowest_exponent)
    ulp = torch.ldexp(torch.ones_like(x), exponent - precision + 1)
    return (torch.floor(x / ulp + 0.5) * ulp).clamp(-largest, largest)


def no_clamp(x, precision, lowest_exponent, largest):
    exponent = (torch.frexp(x)[1] - 1).clamp(min=lowest_exponent)
    ulp = torch.ldexp(torch.ones_like(x), exponent - precision + 1)
    return torch.round(x / ulp) * ulp


def one_binade_off(x, precision, lowest_exponent, largest):
    exponent = torch.frexp(x)[1].clamp(min=lowest_exponent)
    ulp = torch.ldexp(torch.ones_like(x), exponent - precision + 1)
    return (torch.round(x / ulp) * ulp).clamp(-largest, largest)


def loses_the_sign_of_zero(x, precision, lowest_exponent, largest):
    exponent = (torch.frexp(x)[1] - 1).clamp(min=lowest_exponent)
    ulp = torch.ldexp(torch.ones_like(x), exponent - precision + 1)
    return (torch.round(x / ulp) * ulp).clamp(-largest, largest) + 0.0


def makes_nan_zero(x, precision, lowest_exponent, largest):
    exponent = (torch.frexp(x)[1] - 1).clamp(min=lowest_exponent)
    ulp = torch.ldexp(torch.ones_like(x), exponent - precision + 1)
    rounded = (torch.round(x / ulp) * ulp).clamp(-largest, largest)
    return torch.where(x.isnan(), 0, rounded)


def all_nan(x, precision, lowest_exponent, largest):
    return torch.full_like(x, math.nan)


def adds_the_loss(numbers, zero):
    total = lost = zero
    for number in numbers:
        wanted = number + lost
        grown = total + wanted
        lost, total = (grown - total) - wanted, grown
    return total


def forgets_the_loss(numbers, zero):
    total = zero
    for number in numbers:
        lost = zero
        wanted = number - lost
        grown = total + wanted
        lost, total = (grown - total) - wanted, grown
    return total


def leaves_the_format(numbers, zero):
    return math.fsum(number.value for number in numbers)


def nan_in_the_format(numbers, zero):
    return summation.Rounded(math.nan, zero.fmt)


def in_blocks(numbers, zero):
    blocks = [numbers[i : i + 20] for i in range(0, len(numbers), 20)]
    sums = [summation.one_by_one(block, zero) for block in blocks]
    return summation.one_by_one(sums, zero)


def pairwise(numbers, zero):
    if len(numbers) <= 1:
        return numbers[0] if numbers else zero
    half = len(numbers) // 2
    return pairwise(numbers[:half], zero) + pairwise(numbers[half:], zero)


def neighbours_first(numbers, zero):
    while len(numbers) > 1:
        last = numbers[len(numbers) // 2 * 2 :]
        pairs = zip(numbers[::2], numbers[1::2], strict=False)
        numbers = [a + b for a, b in pairs] + last
    return numbers[0]


def remembers_one_number(fmt, bound):
    return 14


def rounds_at_the_end(fmt, bound):
    return next(n for n in range(1, 10_000) if abs(fmt.round(n * fmt.round(1 / n)) - 1) >= bound)


def _first(fmt, bound, missed, part=None):
    for n in range(1, 200):
        total = 0.0
        for _ in range(n):
            total = fmt.round(total + (part or fmt.round)(1 / n))
        if missed(total):
            return n
    return -1


def divides_exactly(fmt, bound):
    return _first(fmt, bound, lambda total: abs(total - 1) >= bound, float)


def only_too_large(fmt, bound):
    return _first(fmt, bound, lambda total: total - 1 >= bound)


def only_too_small(fmt, bound):
    return _first(fmt, bound, lambda total: 1 - total >= bound)


def more_than_the_bound(fmt, bound):
    return _first(fmt, bound, lambda total: abs(total - 1) > bound)


def always_e3m2(x):
    return 3, 3


def most_digits(x):
    return 5, 0


def reach_for_the_largest(x):
    return 2, 7 - round(math.log2(np.abs(x).max()))


def _best_by(error):
    def design(x):
        def of(precision, bias):
            return error(x - make(6, precision, bias).round(x, overflow="saturate"))

        designs = [(p, b) for p in range(2, 6) for b in range(-8, 16)]
        return min(designs, key=lambda pb: of(*pb))

    return design


least_maximum = _best_by(lambda missed: np.abs(missed).max())
largest_error = _best_by(lambda missed: -np.mean(missed**2))


def not_a_number(x):
    return math.nan, math.nan


WRONG = {
    "formats.quantiser": [
        no_subnormals,
        cut_off,
        half_goes_up,
        no_clamp,
        one_binade_off,
        loses_the_sign_of_zero,
        makes_nan_zero,
        all_nan,
    ],
    "formats.kahan": [
        summation.one_by_one,
        adds_the_loss,
        forgets_the_loss,
        leaves_the_format,
        nan_in_the_format,
        pairwise,
        neighbours_first,
        in_blocks,
    ],
    "formats.smallest_n": [
        remembers_one_number,
        rounds_at_the_end,
        divides_exactly,
        only_too_large,
        only_too_small,
        more_than_the_bound,
    ],
    "formats.six_bits": [
        always_e3m2,
        most_digits,
        reach_for_the_largest,
        least_maximum,
        largest_error,
        not_a_number,
    ],
}
