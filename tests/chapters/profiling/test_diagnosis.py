"""The exercise "diagnose": a wrong answer is told what it missed, and no trace tells its cause."""

import numpy as np
import pytest

from course_utils.chapters.profiling.diagnosis import (
    disguised,
    judge,
    lanes,
    made_run,
    run_names,
    seconds_in,
    shares,
)
from course_utils.lesson.exercises import Wrong
from snapshots_and_traces.tests.support.traces import call, launched, micro, note, read
from snapshots_and_traces.traces.trace import BLOCKING
from tests.chapters.profiling import diagnoses

LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"


def complaint(answer):
    with pytest.raises(Wrong) as wrong:
        judge(answer)
    return str(wrong.value), wrong.value.picture


@pytest.mark.parametrize(
    "name, words",
    [
        ("slow-loader", "the device waits for a DataLoader, you said healthy"),
        ("logged-layers", "a wait for the device had made the host late, you said healthy"),
        ("tiny-batches", "the host was late by itself, you said healthy"),
        ("sent-at-the-end", "only messages run, you said healthy"),
        ("large-batches", "the device computes, you said sync-bound"),
    ],
)
def test_of_a_run_that_is_shown_the_largest_loss_is_said_and_all_are_drawn(name, words):
    def right_until(trace):
        said = diagnoses.worked(trace)
        if np.array_equal(trace.start, made_run(name).start):
            return "healthy" if said != "healthy" else "sync-bound"
        return said

    said, picture = complaint(right_until)
    assert said.startswith(f"on `{name}`, where ") and said.endswith(f"% of the time {words}")
    assert all(one in picture().data for one in run_names(shown=True))


def test_of_a_hidden_run_the_cause_is_not_said():
    said, _ = complaint(diagnoses.asks_only_what_the_host_did_as_a_gap_began)
    assert "a run that the page doesn't show you said sync-bound" in said
    assert "host-bound" not in said and "python-statistics" not in said


@pytest.mark.parametrize(
    "answer, says",
    [
        ("knows_how_long_it_took", "times as long, its operators have other names"),
        ("in_its_own_words", "you return 'sync bound', want one of input-bound, sync-bound"),
        ("nothing", "you return None, want one of"),
        ("a_share", "you return 0."),
    ],
)
def test_an_answer_by_heart_or_of_no_cause_is_told_so(answer, says):
    assert says in complaint(getattr(diagnoses, answer))[0]


def test_a_trace_that_is_handed_out_does_not_say_what_it_is():
    seen = []

    def look(trace):
        seen.append((trace.about, trace.gpus, trace.rank))
        return diagnoses.worked(trace)

    assert judge(look) == "5 runs shown and 10 others, three of them on GPUs"
    assert len(seen) == 5 + 5 + 2 * 10 and all(one == ({}, [], None) for one in seen)


def test_lanes_are_what_device_and_host_did(tmp_path):
    events = [
        *launched(1, 0, 10, 10),
        *launched(2, 4, 20, 5),
        note(LOADER, 30, 10),
        *launched(3, 41, 45, 10, "ncclDevKernel_AllReduce", stream=9),
        *launched(4, 42, 50, 10),
        call("cudaStreamSynchronize", 50, 15),
        *launched(5, 66, 70, 3, "Memcpy DtoH", cat="gpu_memcpy"),
    ]
    found = lanes(read(tmp_path, events))
    in_us = {
        name: [(round(1e6 * begin), round(1e6 * end)) for begin, end in spans]
        for name, spans in vars(found).items()
    }
    assert in_us == {
        "busy": [(10, 25), (45, 60), (70, 73)],
        "computing": [(10, 25), (50, 60)],
        "sending": [(45, 55)],
        "loading": [(30, 40)],
        "waiting": [(50, 65)],
    }
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
