"""Wrong answers to chapter 1's exercises, each as a student might write it."""

from tests.support.patches import changed


def twice_its_neighbour(processors, ghz, flop_per_cycle, tflop_per_s):
    types, rates = list(tflop_per_s), list(tflop_per_s.values())
    return {t for t, a, b in zip(types[1:], rates, rates[1:], strict=False) if b > 1.5 * a}


RATES = "dtype for dtype, printed in tflop_per_s.items() if printed > 1.5 * dense(dtype)"
WRONG = {
    "machine.layer_norm": changed(
        "machine.layer_norm",
        reads_only={"2 * rows * width": "rows * width"},
        forgets_weight_and_bias={" + 2 * width": ""},
        weight_and_bias_of_each_row={" + 2 * width": " + 2 * rows * width"},
        in_gib={"/ bytes_per_s": "/ (bytes_per_s / 1e9 * 2**30)"},
    ),
    "machine.turning_batch": changed(
        "machine.turning_batch",
        weight_alone={"weight / (sample_math - sample_memory)": "weight / sample_math"},
        rounds_down={"math.ceil": "int"},
        always_turns={"return None": "pass"},
        looks_for_ever={"return None": "return 10**6"},
        stops_looking={"<= sample_memory:": "<= sample_memory + weight / 10_000:"},
    ),
    "machine.counts_zeros": [
        twice_its_neighbour,
        *changed(
            "machine.counts_zeros",
            all_tensor_rates={RATES: 'dtype for dtype in tflop_per_s if dtype != "FP32"'},
            the_largest={RATES: "max(tflop_per_s, key=tflop_per_s.get)"},
            nearly_twice={"1.5": "1.99"},
            barely_more={"1.5": "1.005"},
        ),
    ],
}
