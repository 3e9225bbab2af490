"""The rules for GPUs, on traces of real ones and of the course's own runs on a queue of threads."""

import os
import time

import pytest
import torch

from course_utils.diagnose.looking import Looker
from course_utils.diagnose.program import Order, Pass
from course_utils.diagnose.records import Look, Seen
from course_utils.diagnose.rules import RULES, Evidence
from course_utils.diagnose.steps import Steps
from course_utils.diagnose.tracing import causes
from course_utils.traces.stored import published_trace, stored_trace


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


def waits_in_python():
    time.sleep(0.01)


def train():
    model = torch.nn.Linear(8, 8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(100):
        model(torch.ones(4, 8)).sum().backward()
        optimizer.step()
        waits_in_python()


def test_the_closer_look_traces_some_steps_and_names_the_function():
    one = Pass(Order(steps=30))
    one.install()
    one.watch.gpu, one.watch.main = True, __file__  # the trace of a CPU has the host's causes
    one.looker = Looker(one.watch)
    look = one.run(train).look
    assert look is not None
    found = next(cause for cause in look.traced if cause.cause == "python")
    assert os.path.abspath(found.file) == __file__ and found.where.endswith(": waits_in_python")
    assert found.line == waits_in_python.__code__.co_firstlineno and found.share > 0.3
