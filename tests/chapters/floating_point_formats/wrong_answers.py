"""Wrong answers to chapter 6's exercises, each as a student might write it."""

import math

import numpy as np
import torch

from course_utils.chapters.floating_point_formats import summation


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


def remembers_one_number(fmt, bound):
    return 14


def rounds_at_the_end(fmt, bound):
    return next(n for n in range(1, 10_000) if abs(fmt.round(n * fmt.round(1 / n)) - 1) >= bound)


def divides_exactly(fmt, bound):
    for n in range(1, 10_000):
        total = 0.0
        for _ in range(n):
            total = fmt.round(total + 1 / n)
        if abs(total - 1) > bound * 1.5:
            return n
    return -1


def always_e3m2(x):
    return 3, 3


def most_digits(x):
    return 5, 0


def reach_for_the_largest(x):
    return 2, 7 - round(math.log2(np.abs(x).max()))


WRONG = {
    "formats.quantiser": [no_subnormals, cut_off, half_goes_up, no_clamp, one_binade_off],
    "formats.kahan": [summation.one_by_one, adds_the_loss, forgets_the_loss, leaves_the_format],
    "formats.smallest_n": [remembers_one_number, rounds_at_the_end, divides_exactly],
    "formats.six_bits": [always_e3m2, most_digits, reach_for_the_largest],
}
