"""The rules of `diagnose` for GPUs, on traces of real ones and of the course's own runs."""

import pytest

from course_utils.core import files
from course_utils.traces.stored import published_trace, stored_trace
from training_diagnosis.records import Look, Seen
from training_diagnosis.rules import RULES, Evidence
from training_diagnosis.steps import Steps
from training_diagnosis.tracing import causes


def hits(trace) -> dict[str, str]:
    evidence = Evidence(Seen(), Steps([], "optimizer", 0.0, set()), Look(traced=causes(trace)))
    of_traces = [rule for rule in RULES if getattr(rule.function, "func", None)]
    return {rule.name: hit.seen for rule in of_traces if (hit := rule.look(evidence))}


@pytest.mark.parametrize(
    "trace, rules",
    [
        (published_trace("ddp_resnet50"), {"launch-bound"}),  # its messages are 7% of the time
        (published_trace("resnet_v100"), {"no-tensor-cores"}),  # busy 97% of the time, in float32
        (stored_trace("traces/logged-layers.json"), {"gpu-waits"}),
        (stored_trace("traces/many-messages.json"), {"exposed-communication"}),
        (stored_trace("traces/tiny-batches.json"), {"launch-bound"}),
        (stored_trace("traces/python-statistics.json"), {"host-bound", "gpu-waits"}),
        (stored_trace("traces/large-batches.json"), set()),
    ],
)
def test_the_cause_in_a_trace_is_the_finding(trace, rules):
    assert set(hits(trace)) == rules


def test_the_chapter_that_explains_a_rule_exists():
    assert {rule.chapter for rule in RULES} <= {path.stem[:2] for path in files.chapters()}
