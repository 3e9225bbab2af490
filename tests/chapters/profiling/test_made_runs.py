"""The course's own runs: each has one cause, which the library names first."""

import pytest

from course_utils.chapters.profiling.diagnosis import (
    CAUSES,
    HEALTHY,
    made_run,
    run_names,
    shares,
)
from course_utils.core.evidence import EvidenceError
from snapshots_and_traces.traces.report import summary

FIRST = {  # what the library's report says first, by cause
    "input-bound": "the input",
    "sync-bound": "the calls",
    "launch-bound": "the launches",
    "communication-bound": "the messages",
    HEALTHY: "what takes longest",
}


def test_each_cause_has_a_run_that_is_shown_and_one_that_is_hidden():
    for shown in (True, False):
        assert {made_run(name).about["cause"] for name in run_names(shown)} == set(CAUSES)
    with pytest.raises(EvidenceError, match=r"No run.*hidden-messages, images"):
        made_run("image")


@pytest.mark.parametrize("name", run_names())
def test_the_library_says_a_runs_cause_first(name):
    trace = made_run(name)
    cause = trace.about["cause"]
    assert summary(trace).splitlines()[-1].startswith(f"Look first at {FIRST[cause]}")
    assert sum(shares(trace).values()) == pytest.approx(1)
