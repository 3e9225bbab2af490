"""Wrong answers to chapter 03's exercises, each as a student might write it."""

from tests.chapters.profiling import diagnoses
from tests.support.patches import changed

EXPOSED = "length(messages + computing) - length(computing)"
HIDDEN = "(length(messages) + length(computing) - length(messages + computing))"
WRONG = {
    "profiling.exposed_communication": changed(
        "profiling.exposed_communication",
        all_of_it={EXPOSED: "length(messages)"},
        the_difference={EXPOSED: "length(messages) - length(computing)"},
        never_below_nothing={EXPOSED: "max(0, length(messages) - length(computing))"},
        the_hidden_part={EXPOSED: HIDDEN},
        pair_by_pair={
            EXPOSED: "length(messages) - sum(max(0, min(b, d) - max(a, c)) "
            "for a, b in messages for c, d in computing)"
        },
        adds_messages={EXPOSED: f"sum(b - a for a, b in messages) - {HIDDEN}"},
    ),
    "profiling.mfu": changed(
        "profiling.mfu",
        without_attention={" + 12 * run.layers * run.width * run.length": ""},
        of_one_gpu={" * run.gpus": ""},
        forward_only={"6 *": "2 *", "12 *": "4 *"},
        always_recomputes={" if run.checkpointing else 1": ""},
        a_third_in_parameters_only={
            "twice * done": "done * (1 + (twice - 1) * 6 * run.parameters / token)"
        },
        in_percent={"return done / possible, twice": "return 100 * done / possible, 100 * twice"},
    ),
    "profiling.diagnose": diagnoses.WRONG,
}
