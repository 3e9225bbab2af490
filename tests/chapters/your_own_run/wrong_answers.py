"""Wrong answers to chapter 18's exercises, each as a student might write it."""

from tests.support.patches import changed

WRONG = {
    "own.gain": changed(
        "own.gain",
        the_length_of_the_waits={"        cpu = gpu\n": "        cpu += device\n"},
        waits_after_every_kernel={"place in stops": "stops"},
        waits_after_none={"place in stops": "False"},
        kernels_side_by_side={"max(gpu, cpu) + device": "cpu + device"},
        device_alone={"cpu += host": "cpu += 0"},
        upside_down={"time(waits) / time(())": "time(()) / time(waits)"},
        one_step={"range(500)": "range(1)"},
        the_gap_after_each_wait={"time(waits) / time(())": (
            "time(waits) / (time(waits)"
            " - 500 * sum(kernels[(at + 1) % len(kernels)][0] for at in waits))"
        )},
        all_idle_time={"/ time(())": "/ (500 * sum(d for _, d in kernels))"},
    ),
    "own.cause": changed(
        "own.cause",
        seconds_for_shares={"0.2 * sum(parts.values())": "0.2"},
        memory_first={
            'if waits[worst] >= 0.2 * sum(parts.values()):\n        return worst\n    ': "",
            '"healthy"': "worst if waits[worst] >= 0.2 * sum(parts.values()) else 'healthy'",
        },
        smaller_of_the_two={"max(waits": "min(waits"},
        everything_else_counts={'"checkpoint": parts["checkpoints"]':
                                '"checkpoint": parts["everything else"]'},
        any_growth={"growth >= 512 * 1024": "growth > 0"},
        never_healthy={'"healthy"': '"memory"'},
    ),
    "own.rule": changed(
        "own.rule",
        one_process={"cores // processes": "cores"},
        also_too_many={"threads < fair": "threads != fair"},
        gpus_count_too={"not gpu and ": ""},
        rounds_up={"cores // processes": "-(-cores // processes)"},
        always_says_a_number={"else None": "else fair"},
    ),
    "own.faults": changed(
        "own.faults",
        one_of_two={"[21, 43]": "[21]"},
        too_many={"[21, 43]": "[21, 43, 44]"},
        none={"[21, 43]": "[]"},
        of_another_draw={'"images", 2': '"images", 4'},
    ),
}  # fmt: skip
