"""What the page has of a trace is what the library has: events, launches, queue, idle times."""

import numpy as np
import pytest

from snapshots_and_traces.tests.support.offline_pages import column
from snapshots_and_traces.tests.support.traces import (
    call,
    launched,
    note,
    op,
    read,
    real,
    span,
    training,
)
from snapshots_and_traces.trace_viewer.data import content
from snapshots_and_traces.trace_viewer.kinds import BLOCKING, KINDS, MESSAGE
from snapshots_and_traces.traces import measures
from snapshots_and_traces.traces.idle import WAITS, breakdown, idle_times
from snapshots_and_traces.traces.report import ON_HOST, WORDS
from snapshots_and_traces.traces.trace import Kind


def columns_of(trace):
    words, columns = content(trace)
    return words, {name: column(place, columns) for name, place in words["events"].items()}, columns


def timed(words, found):
    """Begin and end of each event in ns, as the page adds them up."""
    start, at = found["passed"].copy(), 0
    for lane in words["lanes"]:
        for size in lane["rows"]:
            start[at : at + size] = np.cumsum(start[at : at + size])
            at += size
    return start, start + found["took"]


def agrees(trace):
    """Compares events, launches, queue and idle times with the library's own."""
    words, found, columns = columns_of(trace)
    start, end = timed(words, found)
    shown = np.array([name for name, _ in trace.threads])[trace.thread] != "Spans"
    own = zip(
        trace.name[shown].tolist(), np.rint(trace.start[shown] * 1e9).tolist(),
        np.rint(trace.end[shown] * 1e9).tolist(), strict=True,
    )  # fmt: skip
    theirs = list(zip(found["name"].tolist(), start.tolist(), end.tolist(), strict=True))
    assert sorted(theirs) == sorted(own)
    known = trace.launch >= 0
    pairs = [(trace.name[i], trace.name[trace.launch[i]]) for i in np.flatnonzero(known)]
    launches = np.flatnonzero(found["launch"])
    of = [(found["name"][i], found["name"][found["launch"][i] - 1]) for i in launches]
    assert sorted(of) == sorted(pairs)
    for device in words["devices"]:
        gpu = device["number"]
        times, lengths = measures.launch_queue(trace, gpu)
        queue = {name: column(place, columns) for name, place in device["queue"].items()}
        assert (np.cumsum(queue["passed"]) == np.rint(times * 1e9)).all()
        assert (queue["length"] == lengths).all()
        idle = idle_times(trace, gpu, trace.window(gpu))
        gaps = {name: column(place, columns) for name, place in device["gaps"].items()}
        assert (gaps["begin"] == np.rint(idle.spans[:, 0] * 1e9)).all()
        assert (gaps["why"] == idle.why).all()
        named = [found["name"][i - 1] for i in gaps["endedBy"] if i]
        assert named == trace.name[idle.ended_by[idle.ended_by >= 0]].tolist()
        parts = breakdown(trace, gpu, trace.window(gpu))
        by_words = {words: what for what, words in WORDS.items()}
        for said, _, took, share, places in device["parts"]:
            what = by_words[said]
            assert took == round(parts[what] * 1e9)
            assert share == pytest.approx(parts[what] / sum(parts.values()))
            if what in WAITS:
                longest = np.argmax(idle.shares[:, WAITS.index(what)])
                assert places[0] == [0, longest]


def test_of_a_made_training_run_everything_is_the_librarys(tmp_path):
    agrees(read(tmp_path, training(30)))


def test_of_a_real_gpus_trace_too():
    agrees(real("ddp-resnet50-2xA100"))


def test_kinds_tell_messages_and_calls_that_wait_from_others(tmp_path):
    events = [
        op("aten::mm", 0, 50), note("x", 0, 9), call("cudaStreamSynchronize", 60, 2),
        *launched(1, 10, 20, 5), *launched(2, 12, 30, 5, "ncclDevKernel_AllReduce"),
    ]  # fmt: skip
    words, found, _ = columns_of(read(tmp_path, events))
    kinds = dict(zip(found["name"].tolist(), found["kind"].tolist(), strict=True))
    assert {words["names"][name]: kind for name, kind in kinds.items()} == {
        "aten::mm": Kind.OPERATOR, "x": Kind.ANNOTATION, "cudaStreamSynchronize": BLOCKING,
        "cudaLaunchKernel": Kind.RUNTIME, "gemm": Kind.KERNEL, "ncclDevKernel_AllReduce": MESSAGE,
    }  # fmt: skip
    assert [told[:2] for told in words["kinds"]] == [[n, word] for n, (word, _) in KINDS.items()]


def test_without_a_gpu_the_parts_are_the_hosts_and_lead_to_their_longest(tmp_path):
    trace = read(tmp_path, [op("aten::mm", 0, 20), op("aten::relu", 60, 30), op("x", 95, 5)])
    words, found, columns = columns_of(trace)
    (device,) = words["devices"]
    assert device["number"] == -1 and device["says"] == ""
    parts = {said: (took, places) for said, _, took, _, places in device["parts"]}
    (ran, longest), (not_ran, gaps_) = parts[WORDS["operators"]], parts[ON_HOST["python"]]
    assert (ran, not_ran) == (55_000, 45_000)
    (_, longest), (_, first) = longest[0], gaps_[0]
    assert words["names"][found["name"][longest]] == "aten::relu"
    gaps = {name: column(place, columns) for name, place in device["gaps"].items()}
    assert (gaps["begin"][first], gaps["took"][first]) == (20_000, 40_000)


def test_a_strangers_names_neither_steer_nor_break_the_page(tmp_path):
    evil = "\x1b]0;mine\x07\u202e\ud800" + "a" * 5000
    words, _, _ = columns_of(read(tmp_path, [span("cpu_op", evil, 0, 5, tid=evil)]))
    assert words["names"][0].isprintable() and len(words["names"][0]) < 1000
    assert words["lanes"][0]["name"].isprintable()
