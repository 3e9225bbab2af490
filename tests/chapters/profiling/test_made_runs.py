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
from snapshots_and_traces.traces.findings import LONGEST, findings

FIRST = {  # what the library finds first, by cause
    "input-bound": ["data"],
    "sync-bound": ["synchronising"],
    "host-bound": ["launching", "python"],
    "communication-bound": ["communication"],
    HEALTHY: [LONGEST],
}


def test_each_cause_has_a_run_that_is_shown_and_others_are_hidden():
    shown, hidden = (
        {made_run(name).about["cause"] for name in run_names(which)} for which in (True, False)
    )
    assert shown == {*CAUSES} and hidden == {*CAUSES} - {"sync-bound"}
    with pytest.raises(EvidenceError, match=r"No run.*hidden-messages, images"):
        made_run("image")


@pytest.mark.parametrize("name", run_names())
def test_the_library_finds_a_runs_cause_first(name):
    """But for "other": the thread that stands for a GPU takes 0.1 ms to wake up."""
    trace = made_run(name)
    found = [one.cause for one in findings(trace, 0) if one.cause != "other"]
    assert found[0] in FIRST[trace.about["cause"]]
    assert sum(shares(trace).values()) == pytest.approx(1)
