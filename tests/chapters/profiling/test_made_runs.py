"""The course's own runs: real, small, told honestly, and each has one cause."""

import json
import re

import numpy as np
import pytest

from course_utils.chapters.profiling.made_runs import (
    CAUSES,
    FOLDER,
    HEALTHY,
    PARTS,
    is_clear,
    made_run,
    run_names,
    shares,
)
from course_utils.core import files
from course_utils.core.evidence import EvidenceError
from course_utils.traces import measures
from course_utils.traces.idle import breakdown, idle_times
from course_utils.traces.report import look_first, summary
from course_utils.traces.trace import Kind
from tools.diagnosed_runs.programs import PROGRAMS

FIRST = {  # what the library's report says first, by cause
    "input-bound": "the input", "sync-bound": "the calls", "launch-bound": "the launches",
    "communication-bound": "the messages", HEALTHY: "what takes longest",
}  # fmt: skip
runs = pytest.mark.parametrize("name", run_names())


def test_there_is_a_run_for_each_program_and_a_shown_and_a_hidden_one_for_each_cause():
    assert run_names() == sorted(PROGRAMS)
    for shown in (True, False):
        assert {made_run(name).about["cause"] for name in run_names(shown)} == set(CAUSES)
    assert len(run_names(shown=True)) == 5


@runs
def test_the_library_says_first_what_the_program_was_written_for(name):
    trace = made_run(name)
    cause, window = trace.about["cause"], trace.window(0)
    pause = float(idle_times(trace, 0, window).seconds.max(initial=0.0))
    said = look_first(breakdown(trace, 0, window), measures.top_kernels(trace, 0), pause)
    assert said.startswith(FIRST[cause])
    assert summary(trace).splitlines()[-1] == f"Look first at {said}."


@runs
def test_no_other_cause_comes_near(name):
    trace = made_run(name)
    assert [cause for cause in CAUSES if is_clear(trace, cause)] == [trace.about["cause"]]
    assert sum(shares(trace).values()) == pytest.approx(1)
    assert set(PARTS.values()) < set(shares(trace))


@runs
def test_a_kernel_begins_after_its_launch_and_a_queue_runs_one_at_a_time(name):
    trace = made_run(name)
    on_device = np.isin(trace.kind, (Kind.KERNEL, Kind.COPY))
    assert trace.devices == [0] and (trace.launch[on_device] >= 0).all()
    assert (trace.start[on_device] >= trace.start[trace.launch[on_device]]).all()
    assert {trace.names[n] for n in trace.name[trace.launch[on_device]]} == {"queueLaunchKernel"}
    for stream in np.unique(trace.thread[on_device]):
        mine = np.flatnonzero(on_device & (trace.thread == stream))
        mine = mine[np.argsort(trace.start[mine])]
        assert (trace.start[mine][1:] >= trace.end[mine][:-1] - 1e-9).all()
        assert (np.diff(trace.start[trace.launch[mine]]) > 0).all(), "in the order of launching"
    assert 1 + (PROGRAMS[name].lengths != ()) == len(np.unique(trace.thread[on_device]))


@runs
def test_the_file_says_that_its_device_is_a_thread_and_how_to_make_it_anew(name):
    path = files.DATA / FOLDER / f"{name}.json"
    about = json.loads(path.read_text())
    assert path.stat().st_size < 40_000
    assert "the device is a second thread of a CPU" in about["what"]
    assert about["gpus"] == ["no GPU: a second thread of a CPU"]
    assert about["how"].startswith(f"python -m tools.diagnosed_runs {name}")
    assert {"torch", "python"} <= set(about["versions"]) and "no GPU" in about["machine"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", about["date"])
    assert (about["cause"], about["shown"]) == (PROGRAMS[name].cause, PROGRAMS[name].shown)


@runs
def test_steps_are_marked_as_the_profiler_marks_them(name):
    assert len(made_run(name).steps) == PROGRAMS[name].steps


def test_messages_know_their_lengths():
    sent = made_run("sent-at-the-end")
    found = sent.numbers[sent.messages][np.argsort(sent.start[sent.messages])]
    assert found.tolist() == 3 * list(PROGRAMS["sent-at-the-end"].lengths)


def test_one_healthy_run_sends_much_and_hides_it():
    trace = made_run("hidden-messages")
    begin, end = trace.window(0)
    found = measures.communication(trace, 0, (begin, end))
    assert found.seconds > 0.25 * (end - begin) and found.hidden_share > 0.75


def test_an_unknown_run_brings_the_known_ones():
    with pytest.raises(EvidenceError, match=r"No run.*hidden-messages, images"):
        made_run("image")
