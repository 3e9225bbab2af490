"""Wrong answers to chapter 05's exercises, each as a student might write it."""

import math


def counts_numbers(shape, dtype):
    return math.prod(shape)


def adds_the_sizes(shape, dtype):
    return sum(shape) * dtype.itemsize


def a_scalar_is_nothing(shape, dtype):
    return math.prod(shape) * dtype.itemsize if shape else 0


def mean(times):
    return sum(times) / len(times)


def the_upper_middle(times):
    return sorted(times)[len(times) // 2]


def sorts_the_callers_list(times):
    times.sort()
    low, high = times[(len(times) - 1) // 2], times[len(times) // 2]
    return (low + high) / 2


WRONG = {
    "input_pipeline.n_bytes": [counts_numbers, adds_the_sizes, a_scalar_is_nothing],
    "input_pipeline.median": [mean, the_upper_middle, sorts_the_callers_list],
}
