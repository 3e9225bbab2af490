"""Right answers to chapter 6's exercises, in other ways than the worked solutions."""

import numpy as np
import torch

from course_utils.chapters.floating_point_formats import make


def with_numpy(x, precision, lowest_exponent, largest):
    x = x.numpy()
    exponent = np.maximum(np.frexp(x)[1] - 1, lowest_exponent)
    ulp = np.ldexp(np.float32(1), exponent - precision + 1)
    return np.clip(np.rint(x / ulp) * ulp, -largest, largest)


def in_place_in_float64(x, precision, lowest_exponent, largest):
    wide = x.double().requires_grad_()
    exponent = (torch.frexp(wide.detach())[1] - 1).clamp(min=lowest_exponent)
    ulp = 2.0 ** (exponent - precision + 1).double()
    rounded = (wide / ulp).round() * ulp
    x.zero_()
    return rounded.clamp(-largest, largest)


def by_magnitude(x, precision, lowest_exponent, largest):
    exponent = (torch.frexp(x)[1] - 1).clamp(min=lowest_exponent)
    ulp = torch.ldexp(torch.ones_like(x), exponent - precision + 1)
    return torch.copysign((torch.round(x.abs() / ulp) * ulp).clamp(max=largest), x)


def kahan_that_adds(numbers, zero):
    total = missing = zero
    for number in numbers:
        wanted = number + missing
        grown = total + wanted
        missing = wanted - (grown - total)
        total = grown
    return total


def kahan_that_ends_with_its_loss(numbers, zero):
    total, lost = zero, zero
    while numbers:
        wanted = numbers.pop(0) - lost
        grown = total + wanted
        lost = (grown - total) - wanted
        total = grown
    return total - lost


def smallest_n_of_numpy(fmt, bound):
    for n in np.arange(1, 1000):
        total = np.float64(0)
        for part in np.full(n, fmt.round(1 / n)):
            total = fmt.round(total + part)
        if max(total - 1, 1 - total) >= bound:
            return n


def designed_by_argmin(x):
    precisions, biases = np.arange(2, 6), np.arange(-8, 16)
    errors = [
        [np.sum((x - make(6, int(p), int(b)).round(x, overflow="saturate")) ** 2) for b in biases]
        for p in precisions
    ]
    best = np.unravel_index(np.argmin(errors), np.shape(errors))
    return precisions[best[0]], biases[best[1]]


def designed_on_a_part(x):
    def error(design):
        part = torch.from_numpy(x[:2000])
        return (part - make(6, *design).round(part, overflow="saturate")).norm()

    found = min(((p, b) for p in range(2, 6) for b in range(16)), key=error)
    return torch.tensor(found)


RIGHT = {
    "formats.quantiser": [with_numpy, in_place_in_float64, by_magnitude],
    "formats.kahan": [kahan_that_adds, kahan_that_ends_with_its_loss],
    "formats.smallest_n": [smallest_n_of_numpy],
    "formats.six_bits": [designed_by_argmin, designed_on_a_part],
}
