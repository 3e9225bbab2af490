"""Right answers to chapter 1's exercises, in other ways than the worked solutions."""

import math

import numpy as np
import torch

from tests.chapters.your_machine.wrong_answers import more_than


def layer_norm_as_a_tensor(rows, width, size, bytes_per_s):
    return torch.tensor(size * (2 * rows * width + 2 * width) / bytes_per_s)


def layer_norm_of_numpy(rows, width, size, bytes_per_s):
    return np.float64(2 * size) * (rows + 1) * width / bytes_per_s


def turning_batch_of_numpy(n_in, n_out, size, flop_per_s, bytes_per_s):
    gain = 2 * n_in * n_out / flop_per_s - size * (n_in + n_out) / bytes_per_s
    return np.int64(np.ceil(size * n_in * n_out / bytes_per_s / gain)) if gain > 0 else None


def turning_batch_or_infinity(n_in, n_out, size, flop_per_s, bytes_per_s):
    gain = 2 * n_in * n_out / flop_per_s - size * (n_in + n_out) / bytes_per_s
    turns = size * n_in * n_out / bytes_per_s / gain if gain > 0 else math.inf
    return torch.tensor(turns, dtype=torch.float64).ceil()


def turning_batch_by_search(n_in, n_out, size, flop_per_s, bytes_per_s):
    def turned(batch):
        moved = size * (batch * (n_in + n_out) + n_in * n_out)
        return 2 * batch * n_in * n_out / flop_per_s >= moved / bytes_per_s

    high = next((2**k for k in range(50) if turned(2**k)), None)
    if high is None:
        return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if turned(middle) else (middle, high)
    return high


def keys_of_a_dict(processors, ghz, flop_per_cycle, tflop_per_s):
    return dict.fromkeys(more_than(1.5, processors, ghz, flop_per_cycle, tflop_per_s)).keys()


def an_array_of_names(processors, ghz, flop_per_cycle, tflop_per_s):
    return np.array(sorted(more_than(1.1, processors, ghz, flop_per_cycle, tflop_per_s)))


def names_one_by_one(processors, ghz, flop_per_cycle, tflop_per_s):
    yield from more_than(1.9, processors, ghz, flop_per_cycle, tflop_per_s)


def by_argmax(m, k, n, size, flop_per_s, bytes_per_s, latency):
    memory = size * (m * k + k * n + m * n) / bytes_per_s
    longest = np.argmax([memory, 2 * m * k * n / flop_per_s, latency])
    return np.array(["memory", "compute", "overhead"])[longest]


RIGHT = {
    "machine.layer_norm": [layer_norm_as_a_tensor, layer_norm_of_numpy],
    "machine.turning_batch": [
        turning_batch_of_numpy, turning_batch_or_infinity, turning_batch_by_search,
    ],
    "machine.counts_zeros": [keys_of_a_dict, an_array_of_names, names_one_by_one],
    "machine.waits_for": [by_argmax],
}  # fmt: skip
