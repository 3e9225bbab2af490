"""Wrong answers to chapter 1's exercises, each as a student might write it."""

from tests.support.patches import changed

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
}
