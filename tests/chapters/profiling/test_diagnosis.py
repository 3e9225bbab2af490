"""The exercise "diagnose": right answers pass, wrong ones are told what they missed."""

import numpy as np
import pytest

from course_utils.chapters.profiling.diagnosis import (
    ON_GPUS,
    disguised,
    judge,
    lanes,
    seconds_in,
)
from course_utils.chapters.profiling.made_runs import CAUSES, made_run, run_names, shares
from course_utils.lesson import exercises
from course_utils.lesson.exercises import Exercise, Wrong, grade
from course_utils.traces.stored import published_trace
from course_utils.traces.trace import BLOCKING
from tests.chapters.profiling import diagnoses
from tests.support.traces import call, launched, micro, note, read

LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"


@pytest.mark.parametrize("answer", diagnoses.RIGHT)
def test_right_answers_pass_each_time(answer):
    for _ in range(3):
        assert judge(answer) == "5 runs shown and 9 others, two of them on GPUs"


@pytest.mark.parametrize("answer", diagnoses.WRONG)
def test_wrong_answers_fail_each_time(answer):
    for _ in range(3):
        with pytest.raises(Wrong):
            judge(answer)


def complaint(answer):
    with pytest.raises(Wrong) as wrong:
        judge(answer)
    return str(wrong.value)


@pytest.mark.parametrize("name", run_names(shown=True))
def test_of_a_run_that_is_shown_the_largest_loss_is_said_and_all_are_drawn(name):
    def wrong_of_one(trace):
        said = diagnoses.worked(trace)
        return "healthy" if said != "healthy" else "sync-bound"

    def right_until(trace):
        this_one = np.array_equal(trace.start, made_run(name).start)
        return wrong_of_one(trace) if this_one else diagnoses.worked(trace)

    with pytest.raises(Wrong) as wrong:
        judge(right_until)
    words = {
        "slow-loader": "the device is idle under DataLoader's next, you said healthy",
        "logged-layers": "it is idle after a call that waited for it, you said healthy",
        "tiny-batches": "it is idle, and was launched too late, you said healthy",
        "sent-at-the-end": "only messages run, you said healthy",
        "large-batches": "the device computes, you said sync-bound",
    }
    assert str(wrong.value).startswith(f"on `{name}`, where ")
    assert str(wrong.value).endswith(f"% of the time {words[name]}")
    assert all(one in wrong.value.picture().data for one in run_names(shown=True))


def test_of_a_hidden_run_the_cause_is_not_said():
    said = complaint(diagnoses.a_wait_comes_before_the_loader)
    assert "a run that the page doesn't show you said sync-bound" in said
    assert "input" not in said and "slow-and-logged" not in said


def test_who_knows_the_runs_by_heart_is_found_out():
    assert "times as long, its operators have other names" in complaint(
        diagnoses.knows_how_long_it_took
    )


@pytest.mark.parametrize("answer, says", [
    (diagnoses.in_its_own_words, "you return 'sync bound', want one of input-bound, sync-bound"),
    (diagnoses.nothing, "you return None, want one of"),
    (diagnoses.a_share, "you return 0."),
])  # fmt: skip
def test_what_is_no_cause_is_sent_back_with_the_five(answer, says):
    assert says in complaint(answer)


def test_an_answer_that_raises_is_told_its_line(monkeypatch):
    mine = Exercise("x.diagnose", "", judge, (), "profiling")
    monkeypatch.setattr(exercises, "find", lambda _: mine)
    verdict = grade("x.diagnose", diagnoses.raises)
    assert not verdict.passed
    assert verdict.message.startswith("your code raised KeyError: 'healthy' (line ")
    assert 'return {"input-bound": 1}["healthy"]' in verdict.message


def test_a_trace_that_is_handed_out_does_not_say_what_it_is():
    seen = []

    def look(trace):
        seen.append((trace.about, trace.gpus, trace.rank))
        return diagnoses.worked(trace)

    judge(look)
    assert len(seen) == 5 + 5 + 2 * 9 and all(one == ({}, [], None) for one in seen)


def test_lanes_are_what_device_and_host_did(tmp_path):
    events = [
        *launched(1, 0, 10, 10), *launched(2, 4, 20, 5), note(LOADER, 30, 10),
        *launched(3, 41, 45, 10, "ncclDevKernel_AllReduce", stream=9), *launched(4, 42, 50, 10),
        call("cudaStreamSynchronize", 50, 15),
        *launched(5, 66, 70, 3, "Memcpy DtoH", cat="gpu_memcpy"),
    ]  # fmt: skip
    found = lanes(read(tmp_path, events))
    in_us = {
        name: [(round(1e6 * begin), round(1e6 * end)) for begin, end in getattr(found, name)]
        for name in ("busy", "computing", "sending", "loading", "waiting")
    }
    assert in_us == {
        "busy": [(10, 25), (45, 60), (70, 73)], "computing": [(10, 25), (50, 60)],
        "sending": [(45, 55)], "loading": [(30, 40)], "waiting": [(50, 65)],
    }  # fmt: skip
    assert seconds_in(found.computing, 20e-6, 52e-6) == micro(7)
    assert seconds_in([], 0.0, 1.0) == 0.0


@pytest.mark.parametrize("name", run_names())
def test_a_disguise_changes_times_and_names_and_no_share_by_much(name):
    trace = made_run(name)
    other, times = disguised(trace)
    assert 2 <= times <= 4
    assert 0.5 * len(trace.start) <= len(other.start) <= len(trace.start)
    assert sorted(other.names) == sorted(trace.names) and other.names != trace.names
    waits = [n for n in trace.names if BLOCKING.match(n)]
    assert [other.names.index(n) for n in waits] == [trace.names.index(n) for n in waits]
    before, after = shares(trace), shares(other)
    assert all(abs(before[part] - after[part]) < 0.15 for part in before)


def test_the_runs_on_gpus_show_one_cause_beyond_doubt():
    found = {name: shares(published_trace(name)) for name in ON_GPUS}
    assert found["ddp_resnet50"]["launching"] > 0.7
    assert found["ddp_resnet50"]["communication"] < 0.1
    assert found["resnet_v100"]["computing"] > 0.95
    assert set(ON_GPUS.values()) <= set(CAUSES)
    assert np.isclose(sum(found["resnet_v100"].values()), 1)
