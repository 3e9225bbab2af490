"""Wrong answers to chapter 1's exercises, each as a student might write it."""

import math


def reads_only(rows, width, size, bytes_per_s):
    return size * (rows * width + 2 * width) / bytes_per_s


def forgets_weight_and_bias(rows, width, size, bytes_per_s):
    return size * 2 * rows * width / bytes_per_s


def weight_and_bias_of_each_row(rows, width, size, bytes_per_s):
    return size * 4 * rows * width / bytes_per_s


def reads_twice(rows, width, size, bytes_per_s):
    return size * (3 * rows * width + 2 * width) / bytes_per_s


def in_gib(rows, width, size, bytes_per_s):
    return size * (2 * rows * width + 2 * width) / (bytes_per_s / 1e9 * 2**30)


def weight_alone(n_in, n_out, size, flop_per_s, bytes_per_s):
    return math.ceil(size * flop_per_s / bytes_per_s / 2)


def forgets_the_result(n_in, n_out, size, flop_per_s, bytes_per_s):
    gain = 2 * n_in * n_out / flop_per_s - size * n_in / bytes_per_s
    return math.ceil(size * n_in * n_out / bytes_per_s / gain) if gain > 0 else None


def rounds_down(n_in, n_out, size, flop_per_s, bytes_per_s):
    gain = 2 * n_in * n_out / flop_per_s - size * (n_in + n_out) / bytes_per_s
    return int(size * n_in * n_out / bytes_per_s / gain) if gain > 0 else None


def always_turns(n_in, n_out, size, flop_per_s, bytes_per_s):
    gain = 2 * n_in * n_out / flop_per_s - size * (n_in + n_out) / bytes_per_s
    return math.ceil(size * n_in * n_out / bytes_per_s / gain)


def multiply_adds(n_in, n_out, size, flop_per_s, bytes_per_s):
    gain = n_in * n_out / flop_per_s - size * (n_in + n_out) / bytes_per_s
    return math.ceil(size * n_in * n_out / bytes_per_s / gain) if gain > 0 else None


def looks_for_ever(n_in, n_out, size, flop_per_s, bytes_per_s):
    batch = 1
    while (
        2 * batch * n_in * n_out / flop_per_s
        < size * (batch * (n_in + n_out) + n_in * n_out) / bytes_per_s
        and batch < 10**6
    ):
        batch += 1
    return batch


def stops_looking(n_in, n_out, size, flop_per_s, bytes_per_s):
    for batch in range(1, 10_001):
        done, moved = 2 * batch * n_in * n_out, size * (batch * (n_in + n_out) + n_in * n_out)
        if done / flop_per_s >= moved / bytes_per_s:
            return batch
    return None


def never_turns(n_in, n_out, size, flop_per_s, bytes_per_s):
    return math.nan


def more_than(times, processors, ghz, flop_per_cycle, tflop_per_s):
    dense = {t: processors * ghz * each / 1e3 for t, each in flop_per_cycle.items()}
    return {t for t, rate in tflop_per_s.items() if rate > times * dense[t]}


def whatever_is_more(processors, ghz, flop_per_cycle, tflop_per_s):
    return more_than(1, processors, ghz, flop_per_cycle, tflop_per_s)


def all_tensor_rates(processors, ghz, flop_per_cycle, tflop_per_s):
    return set(tflop_per_s) - {"FP32"}


def the_largest(processors, ghz, flop_per_cycle, tflop_per_s):
    return {max(tflop_per_s, key=tflop_per_s.get)}


def twice_its_neighbour(processors, ghz, flop_per_cycle, tflop_per_s):
    rates = list(tflop_per_s.values())
    return {
        t for t, a, b in zip(list(tflop_per_s)[1:], rates, rates[1:], strict=False) if b > 1.5 * a
    }


def gflops(processors, ghz, flop_per_cycle, tflop_per_s):
    return {
        t for t, rate in tflop_per_s.items() if rate > 1.5 * processors * ghz * flop_per_cycle[t]
    }


def nearly_twice(processors, ghz, flop_per_cycle, tflop_per_s):
    return more_than(1.99, processors, ghz, flop_per_cycle, tflop_per_s)


def barely_more(processors, ghz, flop_per_cycle, tflop_per_s):
    return more_than(1.005, processors, ghz, flop_per_cycle, tflop_per_s)


def products_compute(m, k, n, size, flop_per_s, bytes_per_s, latency):
    return "compute"


def roofline_alone(m, k, n, size, flop_per_s, bytes_per_s, latency):
    intensity = 2 * m * k * n / (size * (m * k + k * n + m * n))
    return "compute" if intensity > flop_per_s / bytes_per_s else "memory"


def one_flop_each(m, k, n, size, flop_per_s, bytes_per_s, latency):
    math_, memory = m * k * n / flop_per_s, size * (m * k + k * n + m * n) / bytes_per_s
    return _longest(math_, memory, latency)


def inputs_alone(m, k, n, size, flop_per_s, bytes_per_s, latency):
    return _longest(2 * m * k * n / flop_per_s, size * (m * k + k * n) / bytes_per_s, latency)


def numbers_as_bytes(m, k, n, size, flop_per_s, bytes_per_s, latency):
    return _longest(2 * m * k * n / flop_per_s, (m * k + k * n + m * n) / bytes_per_s, latency)


def smallest_edge(m, k, n, size, flop_per_s, bytes_per_s, latency):
    memory = 2 * m * k * n / (2 * min(m, k, n) / size) / bytes_per_s
    return _longest(2 * m * k * n / flop_per_s, memory, latency)


def smallest_edge_of_a_cube(m, k, n, size, flop_per_s, bytes_per_s, latency):
    memory = 2 * m * k * n / (2 * min(m, k, n) / (3 * size)) / bytes_per_s
    return _longest(2 * m * k * n / flop_per_s, memory, latency)


def _longest(math_, memory, latency):
    return max((math_, "compute"), (memory, "memory"), (latency, "overhead"))[1]


WRONG = {
    "machine.layer_norm": [
        reads_only, forgets_weight_and_bias, weight_and_bias_of_each_row, reads_twice, in_gib,
    ],
    "machine.turning_batch": [
        weight_alone, forgets_the_result, rounds_down, always_turns, multiply_adds, looks_for_ever,
        stops_looking, never_turns,
    ],
    "machine.counts_zeros": [
        whatever_is_more, all_tensor_rates, the_largest, twice_its_neighbour, gflops,
        nearly_twice, barely_more,
    ],
    "machine.waits_for": [
        products_compute, roofline_alone, one_flop_each, inputs_alone, numbers_as_bytes,
        smallest_edge, smallest_edge_of_a_cube,
    ],
}  # fmt: skip
