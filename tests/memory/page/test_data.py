"""What the page has of a snapshot is what the library has: every byte, every event, the peak."""

import numpy as np
import pytest

from course_utils.figures.offline.columns import packed
from course_utils.memory.page.data import content, sentence
from course_utils.memory.snapshots.lives import history
from course_utils.memory.snapshots.snapshot import load
from tests.support import snapshot_pages as made
from tests.support.offline_pages import column
from tests.support.snapshots import REAL, real, some_work


def columns_of(snapshot, place=0):
    """A device's words, and a function that reads its columns."""
    words, numbers = content(snapshot)
    device = words["devices"][place]
    return words, device, lambda name: column(device["columns"][name], numbers)


def agrees(snapshot, place=0):
    """Compares what the page adds up with the library's own, at every moment."""
    words, device, column = columns_of(snapshot, place)
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
    return words, device, column


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
def test_of_a_real_file_every_curve_and_holder_is_the_librarys(file):
    if not REAL:
        pytest.skip("the folder ../shared/snapshots isn't here")
    agrees(load(file))


def test_events_are_those_of_the_trace_with_their_stacks_in_words():
    snapshot = made.read(some_work())
    words, device, column = columns_of(snapshot)
    trace = snapshot.trace()
    actions = [words["actions"][code][0] for code in column("action")]
    passed, sizes, stacks = column("passed"), column("size"), column("stack")
    for place, event in enumerate(trace.events()):
        assert (actions[place], int(sizes[place])) == (event.action, event.size)
        lines = [words["lines"][line][0] for line in words["stacks"][stacks[place]]]
        frames = trace.stacks[event.stack]
        assert lines == ([str(frame) for frame in frames] or ["no stack recorded"])
        assert device["streams"][column("stream")[place]] == event.stream
        assert passed[: place + 1].sum() == event.time_us - trace.time_us[0]


def test_the_users_own_lines_are_told_from_a_librarys():
    toy = made.healthy(1)
    toy.alloc(2**20, "main")
    toy.events[-1]["frames"] = [
        {"name": "forward", "filename": "/x/site-packages/torch/nn/linear.py", "line": 1},
        {"name": "mine", "filename": "/home/me/model.py", "line": 7},
    ]
    words, _ = content(made.read(toy))
    lines = {text: (place, own) for text, place, own in words["lines"]}
    assert lines["forward, linear.py:1"] == ("/x/site-packages/torch/nn/linear.py:1", False)
    assert lines["mine, model.py:7"] == ("/home/me/model.py:7", True)


def test_streams_and_private_pools_of_segments_are_named():
    content_ = made.healthy(2).snapshot()
    content_["segments"][0]["stream"] = 7
    content_["segments"][0]["segment_pool_id"] = (0, 3)
    content_["device_traces"][0] = content_["device_traces"][0][-4:]
    _, device, column = columns_of(made.read(content_))
    kinds = [device["kinds"][kind] for kind in column("rangeKind")]
    assert "stream 7, private pool (0, 3)" in kinds and "stream 0" in kinds


def test_the_device_of_most_events_comes_first_unless_another_is_named():
    snapshot = made.read(made.of_devices(made.healthy(1), made.healthy(4)))
    assert content(snapshot)[0]["first"] == 1
    assert content(snapshot, 0)[0]["first"] == 0
    with pytest.raises(ValueError, match=r"nothing of device 5; it has \[0, 1\]"):
        content(snapshot, 5)


def test_the_sentence_says_the_peak_when_it_was_and_who_asked_for_most():
    assert sentence(history(made.read(made.healthy()))) == (
        "At the peak, after event 14 of 116, 0.000 s in, 340.0 MiB were allocated of 340.0 MiB "
        "reserved. The largest part, 200.0 MiB (59%), was asked for by main, main.py:10."
    )


def test_a_trace_without_an_allocation_has_a_sentence_too():
    toy = made.ToyAllocator()
    made.out_of_memory(toy, 2**30, 5)
    assert "0 B were allocated of 0 B reserved." in sentence(history(made.read(toy)))


def test_a_real_programs_page_is_a_few_bytes_an_event():
    words, numbers = content(made.read(some_work(steps=3000)))
    events = words["devices"][0]["events"]
    assert len(packed(words, numbers)) < 20 * events
