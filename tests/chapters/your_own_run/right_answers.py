"""Right answers to chapter 18's exercises, in other ways than the worked solutions."""

from tests.support.patches import changed

RIGHT = {
    "own.gain": changed(
        "own.gain",
        in_turns={"        cpu = gpu\n": "        cpu = max(cpu, gpu)\n"},
        waits_as_a_list={"place in stops": "place in list(stops)"},
    ),
    "own.cause": changed(
        "own.cause",
        by_percent={
            "waits[worst] >= 0.2 * sum(parts.values())": (
                "100 * waits[worst] / sum(parts.values()) >= 20"
            )
        },
    ),
    "own.rule": changed(
        "own.rule", at_least_one={"cores // processes": "max(1, cores // processes)"}
    ),
    "own.faults": changed(
        "own.faults",
        another_line_of_the_same_fault={"[21, 43]": "[17, 43]"},
        in_any_order={"[21, 43]": "(43, 20, 21)"},
    ),
}
