"""What the page has of a snapshot is what the library has: every byte, every event, the peak."""

import numpy as np
import pytest

from snapshots_and_traces.offline.columns import packed
from snapshots_and_traces.snapshot_viewer.data import content, sentence
from snapshots_and_traces.snapshots.lives import history
from snapshots_and_traces.snapshots.loading import load
from snapshots_and_traces.tests.support import snapshot_pages as made
from snapshots_and_traces.tests.support.offline_pages import column
from snapshots_and_traces.tests.support.snapshots import real, some_work


def columns_of(snapshot, place=0):
    """A device's words, and a function that reads its columns."""
    words, numbers = content(snapshot)
    device = words["devices"][place]
    return words, device, lambda name: column(device["columns"][name], numbers)


def agrees(snapshot):
    """Compares what the page adds up with the library's own, at every moment."""
    _, device, column = columns_of(snapshot)
    of = history(snapshot, device["number"])
    event, death = column("event"), column("death")
    early = event == 0
    sizes, addresses, stacks = (np.zeros(len(event), np.int64) for _ in range(3))
    known = event[~early] - 1
    for values, before, name in (
        (sizes, "earlySize", "size"),
        (addresses, "earlyAddress", "addr"),
        (stacks, "earlyStack", "stack"),
    ):
        values[early], values[~early] = column(before), column(name)[known]
    last = device["events"]
    assert (added(event, death, sizes, last) == of.live).all()
    born, gone = column("rangeBirth"), column("rangeDeath")
    assert (added(born, gone, column("rangeSize"), last) == of.reserved).all()
    assert (addresses == of.allocations.address).all()
    assert (stacks == of.stacks).all()
    assert (column("slack") == of.block_sizes - of.allocations.size).all()
    assert device["peak"] == of.peak
    sites = [device["sites"][site] for site in column("site")]
    at_peak = (event <= of.peak) & (death > of.peak)
    held = {}
    for site, size in zip(np.array(sites)[at_peak], sizes[at_peak], strict=True):
        held[site] = held.get(site, 0) + int(size)
    assert held == of.bytes_of_sites(of.peak)


def added(births, deaths, sizes, last):
    change = np.zeros(last + 2, np.int64)
    np.add.at(change, births, sizes)
    np.subtract.at(change, np.minimum(deaths, last + 1), sizes)
    return np.cumsum(change)[: last + 1]


@pytest.mark.parametrize("expandable", [False, True])
@pytest.mark.parametrize("last", [None, 150])
def test_of_a_random_program_every_curve_and_holder_is_the_librarys(expandable, last):
    agrees(made.read(some_work(expandable), last))


@real
def test_of_a_real_file_every_curve_and_holder_is_the_librarys_in_a_few_bytes_an_event(file):
    snapshot = load(file)
    agrees(snapshot)
    words, numbers = content(snapshot)
    assert len(packed(words, numbers)) < 20_000 + 20 * words["devices"][0]["events"]


def test_events_are_those_of_the_trace_with_their_stacks_in_words():
    toy = some_work()
    snapshot = made.read(toy)
    words, device, column = columns_of(snapshot)
    trace = snapshot.trace()
    actions = [words["actions"][code][0] for code in column("action")]
    passed, sizes, stacks, streams = map(column, ("passed", "size", "stack", "stream"))
    for place, event in enumerate(trace.events()):
        assert (actions[place], int(sizes[place])) == (event.action, event.size)
        lines = [words["lines"][line][0] for line in words["stacks"][stacks[place]]]
        frames = trace.stacks[event.stack]
        assert lines == ([str(frame) for frame in frames] or ["no stack recorded"])
        assert device["streams"][streams[place]] == event.stream
        assert passed[: place + 1].sum() == event.time_us - trace.time_us[0]

    toy.events[-1]["frames"] = [
        {"name": "forward", "filename": "/x/site-packages/torch/nn/linear.py", "line": 1},
        {"name": "mine", "filename": "/home/me/model.py", "line": 7},
    ]
    lines = {text: (place, own) for text, place, own in content(made.read(toy))[0]["lines"]}
    assert lines["forward, linear.py:1"] == ("/x/site-packages/torch/nn/linear.py:1", False)
    assert lines["mine, model.py:7"] == ("/home/me/model.py:7", True)


def test_the_sentence_says_the_peak_when_it_was_and_who_asked_for_most():
    assert sentence(history(made.read(made.healthy()))) == (
        "At the peak, after event 14 of 116, 0.000 s in, 340.0 MiB were allocated of 340.0 MiB "
        "reserved. The largest part, 200.0 MiB (59%), was asked for by main, main.py:10."
    )
    nothing = made.out_of_memory(made.ToyAllocator(), 2**30, 5)
    assert "0 B were allocated of 0 B reserved." in sentence(history(made.read(nothing)))
